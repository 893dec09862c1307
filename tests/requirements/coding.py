"""Coding agents over the Agent Client Protocol."""

BUILT = {
    "P.acp.settings": "Only the operator's settings name a command; an agent's owner only chooses among gateways.",
    "P.acp.accounts": "A coding agent answers only for the accounts that its settings name.",
    "P.acp.turn": "What is said goes to the agent's session, whose text is streamed and becomes the reply.",
    "P.acp.session": "A session of ours is one of the agent's, in its workspace, with a program of its own.",
    "P.acp.load": "A session is loaded again after its program has ended; otherwise the agent is told the history.",
    "P.acp.acts": "Tool calls and plans of the agent become entries of the run while it works.",
    "P.acp.permission": "What the agent asks permission for is approved by a person, where tools are approved.",
    "P.acp.denied": "What the rules of an agent or plan mode forbid is refused without asking anybody.",
    "P.acp.files": "The agent reads and writes through Carrel in its workspace only.",
    "P.acp.cancel": "A run that is cancelled cancels the agent's turn; an agent that does not stop is ended.",
    "P.acp.ends": "Every reason for which a turn stops becomes an outcome.",
    "P.acp.limits": "What an agent sends, how long it takes and what is kept of it are bounded.",
    "P.acp.rubbish": "An agent that speaks rubbish harms nobody else.",
    "P.acp.interrupted": "An agent whose turn was interrupted is told so, and what is known of its work.",
    "P.acp.end": "Programs end with Carrel, and so do their children, also when Carrel is killed.",
    "P.acp.health": "Health and doctor say whether the command is there and what it last failed with.",
}

DEFERRED: dict[str, dict[str, str]] = {}

PARTIAL: dict[str, str] = {}
