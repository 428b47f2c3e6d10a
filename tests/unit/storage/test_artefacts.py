"""Files by content: whole or not at all, and never other than what was written."""

import errno
import os

import pytest

from strop.errors import StoreError
from strop.storage.artefacts import Artefacts


def test_same_bytes_are_one_file(tmp_path):
    artefacts = Artefacts(tmp_path / "artefacts")
    first, second = artefacts.put(b"graph"), artefacts.put(b"graph")
    assert first == second
    assert artefacts.get(first) == b"graph"
    assert first in artefacts
    files = [path for path in (tmp_path / "artefacts").rglob("*") if path.is_file()]
    assert files == [artefacts.path(first)]


def test_damage_is_noticed(tmp_path):
    artefacts = Artefacts(tmp_path)
    digest = artefacts.put(b"graph")
    artefacts.path(digest).write_bytes(b"groph")
    with pytest.raises(StoreError, match="damaged"):
        artefacts.get(digest)


def test_missing_artefact_says_what_to_copy(tmp_path):
    with pytest.raises(StoreError, match="Copy that folder along"):
        Artefacts(tmp_path).get("0" * 64)


def test_names_cannot_lead_elsewhere(tmp_path):
    for name in ("../../etc/passwd", "abc", "A" * 64, "0" * 63 + "\n"):
        with pytest.raises(ValueError, match="64 hex digits"):
            Artefacts(tmp_path).path(name)


@pytest.mark.parametrize(
    ("code", "says"), [(errno.ENOSPC, "full"), (errno.EDQUOT, "quota"), (errno.EROFS, "read-only")]
)
def test_half_written_files_never_show(tmp_path, monkeypatch, code, says):
    artefacts = Artefacts(tmp_path)

    def refuse(descriptor):
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", refuse)
        with pytest.raises(StoreError, match=says):
            artefacts.put(b"graph")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    assert artefacts.get(artefacts.put(b"graph")) == b"graph"


def test_folder_that_is_a_file(tmp_path):
    (tmp_path / "artefacts").write_text("mine")
    with pytest.raises(StoreError, match=r"Name another place"):
        Artefacts(tmp_path / "artefacts").put(b"graph")
