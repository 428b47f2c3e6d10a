"""Building kernels: libraries are kept by content, and what goes wrong is said."""

import pytest

from strop.kernels import native

SOURCE = 'extern "C" int answer() {{ return {number}; }}'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path))
    native.load.cache_clear()
    yield tmp_path
    native.load.cache_clear()


def libraries(folder):
    return sorted(folder.rglob("*.so"))


def test_a_library_is_built_once_and_found_by_its_content(folder):
    assert native.load(SOURCE.format(number=41)).answer() == 41
    (built,) = libraries(folder)
    before = built.stat().st_mtime_ns
    native.load.cache_clear()
    assert native.load(SOURCE.format(number=41)).answer() == 41
    assert built.stat().st_mtime_ns == before
    assert native.load(SOURCE.format(number=42)).answer() == 42
    assert len(libraries(folder)) == 2
    assert not list(folder.rglob("*.cpp"))


def test_the_compilers_words_are_passed_on(folder):
    with pytest.raises(native.KernelBuildError, match="not_a_type"):
        native.load("not_a_type x;")
    assert libraries(folder) == []


def test_no_compiler_is_said(folder, monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert native.compiler() is None
    with pytest.raises(native.KernelBuildError, match="install g"):
        native.load(SOURCE.format(number=43))


def test_a_folder_of_somebody_else_is_not_trusted(folder, monkeypatch):
    monkeypatch.setattr(native.os, "getuid", lambda: 4_000_000)
    with pytest.raises(native.KernelBuildError, match="belongs to another user"):
        native.cache_folder()


def test_without_a_setting_the_cache_is_the_users_own(tmp_path, monkeypatch):
    monkeypatch.delenv("TORCH_EXTENSIONS_DIR", raising=False)
    monkeypatch.setattr(native.tempfile, "gettempdir", lambda: str(tmp_path))
    assert native.cache_folder().is_relative_to(tmp_path)
    assert native.cache_folder().stat().st_mode & 0o077 == 0
