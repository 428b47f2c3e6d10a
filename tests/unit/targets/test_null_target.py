"""No room but the shelf of targets decides on the name of a device."""

from pathlib import Path

import strop
from tests.unit.targets.null_target import decisions_on_device_words, null_target

PACKAGE = Path(strop.__file__).parent
# These rooms ask torch, whose vocabulary these words are, on which device a tensor lies.
SPEAK_TORCH = {"capture", "lowering", "worker"}
ALLOWED = {
    # TF32 is tied to one device by torch itself; the contract says so in one place.
    "strop/records/contract.py",
    # An accelerator is chosen before the processor; a target cannot say yet which of the two it is.
    "strop/wiring.py",
    # How much of the product rate plain loops reach; a target cannot say that yet.
    "strop/transforms/_estimate.py",
}


def test_no_other_room_decides_on_a_devices_name():
    found = [
        line
        for line in decisions_on_device_words(PACKAGE)
        if line.partition(":")[0] not in ALLOWED and line.split("/")[1] not in SPEAK_TORCH
    ]
    assert found == []


def test_the_search_finds_what_it_should(tmp_path):
    room = tmp_path / "strop" / "room"
    room.mkdir(parents=True)
    (room / "bad.py").write_text(
        "def f(device='cpu'):\n"
        "    if device == 'cuda' or device.startswith('cuda:'):\n"
        "        return {'cpu': 1}[device]\n"
        "    return device in ('mps', 'other') or device.device.type == 'cpu'\n"
    )
    lines = [line.split(":")[1] for line in decisions_on_device_words(tmp_path / "strop")]
    assert sorted(lines) == ["2", "2", "3", "4"]


def test_the_null_target_is_a_whole_target():
    target = null_target(threads=3)
    assert target.last_level_cache_bytes == 1 << 20
    assert target.ceilings.product_rate_flop_per_s("bfloat16") == 100e9
