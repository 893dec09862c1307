"""A coding agent without the SDK, which does what the last line of its prompt says: `scripted_coder.py [MANNER…]`.

It says a line to the port in CODER_PORT, if there is one, for everything that reaches it, and waits there when a
prompt says `wait`. Its sessions are files in its working directory, so another process can load them.
"""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

MANNERS = sys.argv[1:]
KEPT = Path(".coder-sessions")


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0"} | message) + "\n")
    sys.stdout.flush()


class Coder:
    def __init__(self) -> None:
        self.numbers = 0
        self.prompt: Any = None
        self.session = ""
        self.allowed: bool | None = None
        self.gate = None
        self.children: list[int] = []
        port = os.environ.get("CODER_PORT")
        if port:
            self.gate = socket.create_connection(("127.0.0.1", int(port))).makefile("rw")
        if "with a child" in MANNERS:
            code = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.pause()"
            self.children.append(subprocess.Popen([sys.executable, "-S", "-c", code]).pid)

    def tell(self, what: str, said: Any = None) -> None:
        if self.gate is not None:
            self.gate.write(json.dumps([what, said, [os.getpid(), *self.children]]) + "\n")
            self.gate.flush()

    def update(self, what: str, **fields: Any) -> None:
        update = {"sessionUpdate": what} | fields
        send({"method": "session/update", "params": {"sessionId": self.session, "update": update}})

    def say(self, text: str) -> None:
        self.update("agent_message_chunk", content={"type": "text", "text": text})

    def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Ask the client and wait; a cancelled turn meanwhile is noted."""
        self.numbers += 1
        number = f"a{self.numbers}"
        send({"id": number, "method": method, "params": {"sessionId": self.session} | params})
        while True:
            message = self.read()
            if message.get("id") == number and "method" not in message:
                return message
            if message.get("method") == "session/cancel":
                self.cancelled()
                # The answer to the question still comes.

    def read(self) -> dict[str, Any]:
        line = sys.stdin.readline()
        if not line:
            self.tell("input ended")
            os._exit(0)
        return dict(json.loads(line))

    def cancelled(self) -> None:
        self.tell("cancelled")
        if self.prompt is not None and "deaf" not in MANNERS:
            send({"id": self.prompt, "result": {"stopReason": "cancelled"}})
            self.prompt = None

    def end(self, reason: str = "end_turn") -> None:
        if self.prompt is not None:
            send({"id": self.prompt, "result": {"stopReason": reason}})
            self.prompt = None

    def answer(self, message: dict[str, Any]) -> None:
        method, params = message.get("method"), message.get("params") or {}
        if method == "initialize":
            self.tell("initialize")
            if "never ready" in MANNERS:
                return None
            if "dies at once" in MANNERS:
                sys.stderr.write("I cannot even start\n")
                sys.exit(4)
            if "speaks rubbish" in MANNERS:
                return send({"id": message["id"], "result": {"protocolVersion": "soon"}})
            if "of another version" in MANNERS:
                return send({"id": message["id"], "result": {"protocolVersion": 99}})
            able = {"loadSession": "forgetful" not in MANNERS, "promptCapabilities": {"embeddedContext": True}}
            info = {"name": "scripted", "version": "1"}
            send({"id": message["id"], "result": {"protocolVersion": 1, "agentCapabilities": able, "agentInfo": info}})
        elif method == "session/new":
            if "needs a login" in MANNERS:
                return send({"id": message["id"], "error": {"code": -32000, "message": "Authentication required"}})
            KEPT.mkdir(exist_ok=True)
            self.session = f"s{len(list(KEPT.iterdir())) + 1}"
            (KEPT / self.session).write_text("")
            self.tell("new", params["cwd"])
            send({"id": message["id"], "result": {"sessionId": self.session}})
        elif method == "session/load":
            self.tell("load", params["sessionId"])
            if not (KEPT / params["sessionId"]).exists():
                return send({"id": message["id"], "error": {"code": -32002, "message": "no such session"}})
            self.session = params["sessionId"]
            self.say("an old reply, replayed")
            send({"id": message["id"], "result": {}})
        elif method == "session/prompt":
            self.prompt = message["id"]
            texts = [block.get("text") or json.dumps(block) for block in params["prompt"]]
            self.tell("prompt", texts)
            for line in texts[-1].strip().splitlines()[-1].split("; "):
                if self.prompt is not None:
                    self.do(*line.split(" ", 1))
            self.end()
        elif method == "session/cancel":
            self.cancelled()
        return None

    def do(self, verb: str, rest: str = "") -> None:
        match verb:
            case "say":
                for piece in rest.split("|"):
                    self.say(piece)
            case "do":
                kind, _, title = rest.partition(" ")
                call = f"c_{title}"
                self.update("tool_call", toolCallId=call, title=title, kind=kind, status="in_progress",
                            locations=[{"path": "/somewhere/a.py"}], rawInput={"key": "sk-" + "a" * 40})  # fmt: skip
                said = [{"type": "content", "content": {"type": "text", "text": f"{title} went well"}}]
                self.update("tool_call_update", toolCallId=call, status="completed", content=said)
            case "begin":
                self.update("tool_call", toolCallId=f"c_{rest}", title=rest, kind="execute", status="in_progress")
            case "plan":
                steps = [{"content": step, "priority": "high", "status": "completed" if at == 0 else "pending"}
                         for at, step in enumerate(rest.split("|"))]  # fmt: skip
                self.update("plan", entries=steps)
            case "ask":
                kind, _, title = rest.partition(" ")
                self.ask(kind, title)
            case "read":
                answer = self.request("fs/read_text_file", {"path": rest})
                self.say(json.dumps(answer.get("result") or answer["error"]["data"]))
            case "write":
                path, _, text = rest.partition(" ")
                answer = self.request("fs/write_text_file", {"path": path, "content": text})
                self.say("written" if "result" in answer else json.dumps(answer["error"]["data"]))
            case "terminal":
                answer = self.request("terminal/create", {"command": "true"})
                self.say(str(answer["error"]["code"]))
            case "wait":
                self.tell("waits")
                while self.prompt is not None:
                    message = self.read()
                    if message.get("method") == "session/cancel":
                        self.cancelled()
                    elif message.get("method") == "go_on":
                        break
            case "hold":
                assert self.gate is not None
                self.tell("holds")
                self.gate.readline()
            case "die":
                sys.stderr.write("I fell over\n")
                sys.stderr.flush()
                os._exit(3)
            case "flood":
                while True:
                    self.say("and more")
            case "line":
                while True:
                    sys.stdout.write("z" * 1_000_000)
            case "rubbish":
                sys.stdout.write('hello\n[1, 2]\n{"id": []}\n{"id": 7, "error": "no"}\n\xff\x00\n')
                send({"method": "session/update", "params": {"update": 5}})
                send(
                    {
                        "method": "session/update",
                        "params": {"sessionId": self.session, "update": {"sessionUpdate": "?"}},
                    }
                )
                send({"id": 99, "result": {}})
            case "stop":
                self.end(rest)
            case "fail":
                send(
                    {
                        "id": self.prompt,
                        "error": {"code": -32603, "message": "Internal error", "data": {"details": rest}},
                    }
                )
                self.prompt = None
            case "environment":
                self.say(f"{os.environ.get('GIVEN')} {os.environ.get('NOT_GIVEN')} {Path.cwd()}")

    def ask(self, kind: str, title: str) -> None:
        call = {"toolCallId": f"c_{title}", "title": title, "kind": kind, "rawInput": {"what": title}}
        self.update("tool_call", status="pending", **call)
        options = [{"optionId": one, "name": one, "kind": one}
                   for one in ("allow_always", "allow_once", "reject_once", "reject_always")]  # fmt: skip
        answer = self.request("session/request_permission", {"toolCall": call, "options": options})
        outcome = dict(answer["result"]["outcome"])
        self.tell("permission", outcome)
        is_allowed = outcome.get("optionId") == "allow_once"
        self.update("tool_call_update", toolCallId=f"c_{title}", status="completed" if is_allowed else "failed")
        if self.prompt is not None:
            self.say(f"{title}: {outcome.get('optionId', outcome.get('outcome'))}. ")


if __name__ == "__main__":
    if "prints first" in MANNERS:
        sys.stdout.write("Welcome to this agent\n")
    coder = Coder()
    while True:
        coder.answer(coder.read())
