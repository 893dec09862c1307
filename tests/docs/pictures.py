"""Draws the architecture's pictures from the imports and from a turn that is run: `python -m tests.docs.pictures`."""

import asyncio
import re
import tempfile
import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import grimp

from tests.delivery.test_cost import INDEX, chat, rest
from tests.harness.server import open_http_server
from tests.harness.watched_database import WatchedDatabase
from tests.house.contracts import ROOT, imports_of

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
# The same picture is read on a light and on a dark page.
STYLE = (
    "text{font:13px ui-monospace,monospace;fill:#24292f}.box{fill:#f6f8fa;stroke:#57606a}"
    "path{fill:none;stroke:#8c959f}.dim{fill:#57606a}.write{stroke:#1a7f37}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.box{fill:#161b22;stroke:#8b949e}"
    "path{stroke:#6e7681}.dim{fill:#9198a1}.write{stroke:#3fb950}}"
)
ROW, BOX_WIDTH, GAP, MIDDLE = 46, 116, 18, 330
WRITTEN = re.compile(r"\s*(?:INSERT INTO|UPDATE|DELETE FROM) (\w+)")
# The rooms of a turn, as columns; whatever else reads at that moment is no part of it.
NAMES = ("client", "surfaces", "runs", "delivery", "context", "model", "store")
COLUMNS = {name: 50 + 88 * at for at, name in enumerate(NAMES)}


def rooms() -> str:
    """Draw every room above the rooms it imports, without the lines that follow from others."""
    uses: defaultdict[str, set[str]] = defaultdict(set)
    for importer, imported in imports_of(grimp.build_graph(ROOT)):
        ends = importer.split(".")[1:2], imported.split(".")[1:2]
        if imported.startswith(f"{ROOT}.") and all(ends) and ends[0] != ends[1]:
            uses[ends[0][0]].add(ends[1][0])

    @cache
    def level(room: str) -> int:
        return 1 + max(map(level, uses.get(room, ())), default=-1)

    @cache
    def below(room: str) -> set[str]:
        return uses.get(room, set()).union(*map(below, uses.get(room, ())))

    every = set(uses).union(*uses.values())
    lines = [(room, to) for room in sorted(uses) for to in sorted(uses[room] - set().union(*map(below, uses[room])))]
    top, spots = max(map(level, every)), dict[str, tuple[float, int]]()
    for at in range(top, -1, -1):
        row = sorted(room for room in every if level(room) == at)
        users = {room: [spots[user][0] for user, to in lines if to == room] or [MIDDLE] for room in row}
        row.sort(key=lambda room: (sum(users[room]) / len(users[room]), room))
        left = MIDDLE - (len(row) - 1) * (BOX_WIDTH + GAP) / 2
        spots |= {room: (left + n * (BOX_WIDTH + GAP), 30 + (top - at) * ROW) for n, room in enumerate(row)}
    drawn = [_line(*spots[room], *spots[to]) for room, to in lines]
    boxes = [_box(room, *spots[room]) for room in sorted(every)]
    return _svg(2 * MIDDLE, (top + 1) * ROW + 14, "The rooms, each above those it imports", [*drawn, *boxes])


def _line(x: float, y: float, to_x: float, to_y: float) -> str:
    # A line past other rows makes a bow, or it would run behind their boxes.
    bow = 0 if to_y - y <= ROW else (1 if to_x >= x else -1) * min(190, (to_y - y) * 0.6)
    return f'<path d="M{x:g} {y + 14:g}C{x + bow:g} {y + 34:g} {to_x + bow:g} {to_y - 34:g} {to_x:g} {to_y - 14:g}"/>'


def _box(name: str, x: float, y: float, width: int = BOX_WIDTH) -> str:
    shape = f'<rect class="box" x="{x - width / 2:g}" y="{y - 14:g}" width="{width}" height="28" rx="5"/>'
    return f'{shape}<text x="{x:g}" y="{y + 4:g}" text-anchor="middle">{escape(name)}</text>'


def turn() -> str:
    """Draw the transactions and requests of a chat message that is answered after one tool call."""
    rows = asyncio.run(_trace())
    height = 50 + len(rows) * ROW
    columns = [f'{_box(name, x, 24, 76)}<path d="M{x} 38V{height}"/>' for name, x in COLUMNS.items()]
    return _svg(870, height + 10, "A turn: its transactions and requests", [*columns, *_arrows(rows)])


def _arrows(rows: list[tuple[str, str, str]]) -> Iterator[str]:
    for n, (room, to, label) in enumerate(rows):
        x, to_x, y = COLUMNS[room], COLUMNS[to], 74 + n * ROW
        is_write, tip = to == "store" and label != "reads", 6 if to_x > x else -6
        shape = f"M{x} {y}H{to_x}m{-tip} -4l{tip} 4l{-tip} 4"
        yield f'<path class="{"write" if is_write else "ask"}" d="{shape}"/>'
        # What is written stands behind the store, the rest above its arrow.
        left, top = (to_x + 12, y + 4) if is_write else (min(x, to_x) + 8, y - 6)
        for line, words in enumerate(textwrap.wrap(label, 36)):
            yield f'<text class="dim" x="{left}" y="{top + 15 * line}">{escape(words)}</text>'


async def _trace() -> list[tuple[str, str, str]]:
    """Run the turn a second time, when lane and session exist; return who asked whom for what, in order."""
    rows: list[tuple[str, str, str]] = []
    with tempfile.TemporaryDirectory() as folder:
        async with open_http_server(f"sqlite:///{Path(folder) / 'turn.db'}") as server, server.client() as client:
            await chat(server, client)
            await rest(server)
            assert isinstance(server.db, WatchedDatabase)
            cost, write, read, take = server.db.count_anew(), server.db.write, server.db.read, server.agent.take

            async def written(work: Callable[[Any], Any]) -> Any:
                begin = len(cost.statements)
                done = await write(work)
                sent = [one.sql for one in cost.statements[begin:] if one.work not in INDEX]
                tables = sorted({found[1] for sql in sent if (found := WRITTEN.match(sql))})
                if tables:
                    rows.append((_room(work), "store", ", ".join(tables)))
                return done

            async def looked(work: Callable[[Any], Any]) -> Any:
                row = (_room(work), "store", "reads")
                if row[0] in ("delivery", "context") and row not in rows[-1:]:
                    rows.append(row)
                return await read(work)

            async def taken(*args: Any) -> Any:
                answer = await take(*args)
                said = ", ".join(f"calls {call.name}" for call in answer.calls) or "replies"
                rows.extend((("delivery", "model", "a step"), ("model", "delivery", said)))
                return answer

            server.db.write, server.db.read, server.agent.take = written, looked, taken  # type: ignore[method-assign,assignment]
            rows.append(("client", "surfaces", "POST /api/runs"))
            await chat(server, client)
            rows.append(("surfaces", "client", "the reply"))
    return rows


def _room(work: Callable[[Any], Any]) -> str:
    return str(getattr(work, "func", work).__module__).split(".")[1]


def _svg(width: float, height: float, title: str, parts: list[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img">'
    return "\n".join([head, f"<title>{title}</title><style>{STYLE}</style>", *parts, "</svg>"]) + "\n"


PICTURES = {"rooms.svg": rooms, "turn.svg": turn}

if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (IMAGES / name).write_text(draw(), encoding="utf-8")
