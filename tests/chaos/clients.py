"""Those who talk to the servers while they are killed: one sender for each lane, and a follower of the feed."""

import asyncio
import random
from dataclasses import dataclass, field

import httpx

from tests.chaos.gateway import draw_kind
from tests.chaos.servers import ANSWER_SECONDS, Servers

TRY_AGAIN_SECONDS = 0.05
ACCEPT_SECONDS_MAX = 90.0
PAUSE_SECONDS = (0.02, 0.3)
REPEAT_CHANCE = 0.1


@dataclass
class Said:
    """What was accepted: the run of every (lane, number), and answers that contradict an earlier one."""

    runs: dict[tuple[str, int], str] = field(default_factory=dict)
    contradictions: list[str] = field(default_factory=list)


class Sender:
    """Says numbered messages to one lane, each until it is accepted, and some of them again."""

    def __init__(self, lane: str, servers: Servers, said: Said, seed: str) -> None:
        self._lane = lane
        self._servers = servers
        self._said = said
        self._chance = random.Random(seed)

    async def talk(self, enough: asyncio.Event) -> None:
        """Go on until it is enough; the last message is accepted too."""
        number = 0
        async with httpx.AsyncClient(timeout=ANSWER_SECONDS) as client:
            while not enough.is_set():
                line = self._line(number, draw_kind(self._chance))
                await self._say(client, number, line)
                if self._chance.random() < REPEAT_CHANCE:
                    await self._say(client, number, line)
                number += 1
                await asyncio.sleep(self._chance.uniform(*PAUSE_SECONDS))

    def _line(self, number: int, kind: str) -> dict[str, str]:
        return {
            "text": f"{self._lane} {number} {kind}",
            "sessionId": self._lane,
            "channelType": "web",
            "clientMessageId": f"{self._lane}-{number}",
        }

    async def _say(self, client: httpx.AsyncClient, number: int, line: dict[str, str]) -> None:
        async with asyncio.timeout(ACCEPT_SECONDS_MAX):
            run_id = None
            while run_id is None:
                run_id = await self._accepted(client, line)
                if run_id is None:
                    await asyncio.sleep(TRY_AGAIN_SECONDS)
        known = self._said.runs.setdefault((self._lane, number), run_id)
        if known != run_id:
            self._said.contradictions.append(f"{line['clientMessageId']} became {known} and {run_id}")

    async def _accepted(self, client: httpx.AsyncClient, line: dict[str, str]) -> str | None:
        """The run it became, None when it is not known whether it became one."""
        url = self._servers.pick(self._chance)
        if url is None:
            return None
        try:
            answer = await client.post(f"{url}/api/chat", json=line, headers=self._servers.headers)
        except httpx.TransportError:
            return None
        if answer.status_code == 202:
            return str(answer.json()["runId"])
        if answer.status_code < 500 and answer.status_code != 429:
            self._said.contradictions.append(
                f"{line['clientMessageId']} was answered {answer.status_code}: {answer.text}"
            )
            raise RuntimeError(answer.text)
        return None


class Follower:
    """Follows the feed from its beginning, coming back with its last number whenever the connection breaks."""

    def __init__(self, servers: Servers, seed: str) -> None:
        self.seen: list[int] = []
        # The newest number that it must have seen.
        self.until = 1 << 61
        self.resets: list[str] = []
        self._servers = servers
        self._chance = random.Random(seed)

    async def follow(self) -> None:
        """Until cancelled."""
        async with httpx.AsyncClient(timeout=httpx.Timeout(ANSWER_SECONDS, read=60.0)) as client:
            while True:
                url = self._servers.pick(self._chance)
                if url is not None:
                    await self._listen(client, url)
                await asyncio.sleep(TRY_AGAIN_SECONDS)

    async def _listen(self, client: httpx.AsyncClient, url: str) -> None:
        last = self.seen[-1] if self.seen else 0
        headers = {**self._servers.headers, "Last-Event-ID": str(last)}
        try:
            async with client.stream("GET", f"{url}/api/stream", headers=headers) as answer:
                number: int | None = None
                async for line in answer.aiter_lines():
                    # An event counts once it has come whole: its id, its name, its content, an empty line.
                    if line.startswith("id:"):
                        number = int(line[3:])
                    elif line.startswith("event: stream."):
                        number = None
                        if "reset" in line:
                            self.resets.append(f"reset behind {last}")
                    elif not line and number is not None:
                        self.seen.append(number)
                        number = None
        except httpx.TransportError:
            return
