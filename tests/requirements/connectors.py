"""MCP servers whose tools agents use."""

BUILT = {
    "P.mcp.settings": "Only the operator's settings name a command; an agent's owner only chooses among servers.",
    "P.mcp.accounts": "A server is there only for the accounts that its settings name.",
    "P.mcp.agent": "An agent gets the tools of the servers that it lists, and of no others.",
    "P.mcp.start": "A server is started when its tools are first wanted.",
    "P.mcp.restart": "A server that dies is started again, after a pause that grows.",
    "P.mcp.end": "Programs end with Carrel, and so do their children.",
    "P.mcp.reload": "Settings that are read again end the servers that they change, and no others.",
    "P.mcp.health": "Health says of every server whether it works, since when, and what is wrong.",
    "P.mcp.names": "Tools are offered as <server>_<tool>, where the settings allow them.",
    "P.mcp.shadow": "No tool of a server takes the name of ours, of another server's, or of a function of the sender.",
    "P.mcp.words": "What a server says of its tools is bounded, visible, and marked as its own.",
    "P.mcp.effect": "A tool that is not marked as reading writes: plan mode hides it.",
    "P.mcp.approval": "tools.ask covers tools of servers like ours; the question names server and tool.",
    "P.mcp.changes": "A tool that has changed since it was offered is refused; one that wrote stays one that writes.",
    "P.mcp.record": "A call is recorded before it is made and finished after; it is never made twice.",
    "P.mcp.fate": "After a crash in the middle of a call the model is told that its fate is unknown, and decides.",
    "P.mcp.time": "Calls and starts have limits in time; a run that is cancelled does not wait for its call.",
    "P.mcp.flood": "A server that floods us, or works us hard, is cut off; others do not notice.",
    "P.mcp.results": "Results are bounded; files are artifacts of the run, and images are shown to the model.",
    "P.mcp.secrets": "A program gets only the variables that are named, and results do not show their values.",
    "P.mcp.page": "A page shows the servers of an account, tests them, and an agent's form chooses among them.",
    "P.mcp.cli": "carrel mcp servers lists, adds, tests and removes servers of the settings file.",
}
DEFERRED: dict[str, dict[str, str]] = {}
PARTIAL: dict[str, str] = {}
