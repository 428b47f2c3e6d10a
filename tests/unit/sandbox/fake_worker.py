"""A worker by script: it speaks the wire, and `Load` with a source text that names a deed below does that deed.

It starts without torch, which takes a second: an arena's floats are doubled as they lie there.
"""

import argparse
import contextlib
import ctypes
import mmap
import os
import platform
import signal
import sys
import threading
import time
from array import array
from pathlib import Path

from strop.records.evidence import Stage
from strop.wire import messages as say
from strop.wire.codec import decode, encode
from strop.wire.frames import GO, Frame, FrameKind, PipeClosed, read_frame, write_frame

HERE = {}


def hang():
    while True:
        time.sleep(1)


def leave():
    sys.exit(0)


def crash():
    ctypes.string_at(0)


def flood():
    while True:
        os.write(1, b"x" * 65536)


def fill_disk():
    for index in range(10_000):
        Path(os.environ["TMPDIR"], f"{index}").write_bytes(b"x" * (1 << 20))
        time.sleep(0.001)


def fill_one_file():
    with Path("one").open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * (1 << 20))


def eat_memory():
    hoard = []
    while True:
        hoard.append(b"x" * (1 << 24))
        time.sleep(0.002)


def eat_shared_memory():
    hoard = []
    while True:
        block = mmap.mmap(-1, 1 << 24)
        block.write(b"x" * (1 << 24))
        hoard.append(block)
        time.sleep(0.002)


def bomb():
    while True:
        if os.fork() == 0:
            time.sleep(100)
            os._exit(0)
        time.sleep(0.001)


def daemon():
    if os.fork():
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    environment = {} if HERE["deed"] == "bare_daemon" else dict(os.environ)
    os.execve(sys.executable, [sys.executable, "-c", f"import time; time.sleep(300) # {HERE['text']}"], environment)


def orphan_then_kill_keeper():
    daemon()
    time.sleep(0.2)
    os.kill(os.getppid(), signal.SIGKILL)
    hang()


def garbage():
    os.write(HERE["write"], b"this is no frame at all")
    hang()


def wrong_json():
    write_frame(HERE["write"], Frame(FrameKind.RECORD, b'{"seconds_s": 1'))


def wrong_reply():
    write_frame(HERE["write"], Frame(FrameKind.RECORD, encode(say.Done())))


def half_a_frame():
    os.write(HERE["write"], b"STRP\x01\xff\x00\x00\x00half")
    sys.exit(3)


def close_pipe():
    os.close(HERE["write"])
    hang()


def truncate():
    for name in ("given", "made"):
        for size in (0, 1):
            try:
                os.ftruncate(HERE[name], size)
            except OSError:
                continue
            raise AssertionError("the arena shrank")


def seal():
    import fcntl

    try:
        fcntl.fcntl(HERE["made"], fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW)
    except PermissionError:
        os.ftruncate(HERE["made"], 1 << 20)
        return
    raise AssertionError("the child could seal the arena")


def lose_first_thread():
    """A process of which a thread goes on when the first has ended, so that it looks like a zombie."""
    if os.fork() == 0:
        threading.Thread(target=time.sleep, args=(60,)).start()
        library = ctypes.CDLL(None)
        library.syscall({"x86_64": 60, "aarch64": 93}[platform.machine()], 0)


def speak():
    print(f"some words {HERE['text']}", flush=True)


def print_environment():
    print("\n".join(f"{key}={value}" for key, value in os.environ.items()))
    print("cwd", os.getcwd(), "stdin", os.readlink("/proc/self/fd/0"))
    print("fds", sorted(int(fd) for fd in os.listdir("/proc/self/fd"))[:-1])


def answer_twice():
    write_frame(HERE["write"], Frame(FrameKind.RECORD, encode(say.Loaded())))
    write_frame(HERE["write"], Frame(FrameKind.RECORD, encode(say.Loaded())))
    raise PipeClosed


def fail():
    raise RuntimeError("no good\x1b[31m")


def fail_on_device():
    raise RuntimeError("CUDA error: an illegal memory access was encountered")


def fail_for_memory():
    raise RuntimeError("CUDA out of memory.")


KINDS = {"fail_on_device": "device", "fail_for_memory": "memory"}
sys.path.insert(0, str(Path(__file__).parent))
from confined_worker import DEEDS as CONFINED_DEEDS  # noqa: E402

DEEDS = (
    CONFINED_DEEDS
    | {
        each.__name__: each
        for each in [
            *(hang, leave, crash, flood, fill_disk, fill_one_file, eat_memory, eat_shared_memory, bomb, daemon),
            *(
                garbage,
                wrong_json,
                wrong_reply,
                half_a_frame,
                close_pipe,
                truncate,
                seal,
                lose_first_thread,
                speak,
                print_environment,
                fail,
            ),
            *(fail_on_device, fail_for_memory),
            *(answer_twice, orphan_then_kill_keeper),
        ]
    }
    | {"bare_daemon": daemon, "nothing": lambda: None}
)


def do_deed(request):
    HERE["deed"], _, HERE["text"] = request.form.text.partition(":")
    try:
        DEEDS[HERE["deed"]]()
    except (RuntimeError, OSError) as error:
        return say.Raised(
            stage=Stage.POLICY,
            who="candidate",
            error=type(error).__name__,
            detail=str(error),
            trace="the trace",
            kind=KINDS.get(HERE["deed"], "raised"),
        )
    return None if HERE["deed"].startswith("wrong") else say.Loaded(notes=("nothing done",))


def lend(request):
    for name in ("given", "made"):
        layout = getattr(request, name)
        HERE[f"{name}_map"] = (memoryview(mmap.mmap(HERE[name], layout.total_bytes)), layout)
    return say.Done()


def floats(name, slot):
    memory, layout = HERE[f"{name}_map"]
    return {span.path: memory[start : start + span.extent_bytes].cast("f") for span, start in layout.placed(slot)}


def run(slot):
    """Doubles every input that has a namesake among the outputs."""
    given = floats("given", slot)
    for path, result in floats("made", slot).items():
        if path in given:
            result[:] = array("f", (2 * value for value in given[path]))


def answer(request):
    match request:
        case say.Load():
            return do_deed(request)
        case say.Map():
            return lend(request)
        case say.Run():
            run(request.slot)
            return say.Ran(outputs=())
        case say.AskMemory():
            return say.Raised(stage=Stage.TIME, who="strop", error="Bug", detail="ours")
    return say.Done()


def main():
    parser = argparse.ArgumentParser()
    for name in ("read", "write", "given", "made"):
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--role")
    HERE.update(vars(parser.parse_args()))
    while True:
        frame = read_frame(HERE["read"])
        if frame.kind is FrameKind.GO:
            (calls,) = GO.unpack(frame.body)
            for call in range(calls):
                run(call % HERE["made_map"][1].slots)
            if HERE.get("deed") == "fail":
                raised = say.Raised(stage=Stage.TIME, who="candidate", error="E", detail="in the clock")
                write_frame(HERE["write"], Frame(FrameKind.RECORD, encode(raised)))
            else:
                write_frame(HERE["write"], Frame(FrameKind.DONE))
            continue
        reply = answer(decode(say.RequestMessage, frame.body))
        if reply is not None:
            write_frame(HERE["write"], Frame(FrameKind.RECORD, encode(reply)))


if __name__ == "__main__":
    with contextlib.suppress(PipeClosed):
        main()
