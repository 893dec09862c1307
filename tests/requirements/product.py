"""What holds everywhere in the product: receipts, accounts, both databases, start and stop."""

BUILT = {
    "P.receipt": "Every run keeps a receipt: instructions, input, tools offered, and why each context item is there.",
    "P.receipt.compare": "Two receipts can be compared: what was added, removed and kept.",
    "P.receipt.true": "A receipt equals byte for byte what the gateway received; credentials are left out.",
    "P.nomodel": "Without a model everything works, and equal input gives equal output.",
    "P.tool.once": "Every tool has one definition: name, schema, effect and permission.",
    "P.tool.ask": "A tool listed in tools.ask acts only after a person approved that very call, also after a restart.",
    "A.once": "No text longer than 20 characters stands twice in one request, schemas and names aside.",
    "A.budget": "Instructions and offered tools of each profile stay within the budgets of `bench prompt`.",
    "A.prefix": "Requests of one agent for two tasks share their beginning up to the task.",
    "P.steer.step": "A message sent into a running turn is heard at its next step, and causes no turn of its own.",
    "P.steer.late": "A message for a turn that ends first is an ordinary message; a cancelled one is not heard.",
    "P.steer.order": "Messages that steer a turn are heard in their order, before what waits in the queue.",
    "P.steer.once": "A message that steers a turn is in the journal once, wherever the turn dies.",
    "P.steer.rights": "Nobody steers a run that may see more than they.",
    "P.fork.history": "A fork starts with the transcript up to an entry, with its files and tool calls.",
    "P.fork.private": "A fork is private, holds only what its maker may read, and has none of the session's memory.",
    "P.replay": "A run of its own sends a stored step once more, to any model, and is compared like any other run.",
    "P.replay.effects": "No call of a replay is made, and nothing is added to the run or its session.",
    "P.replay.rights": "Owners alone replay a run, and only to a connection to a model.",
    "P.account.keys": "The account leads every primary key and is part of every foreign key between account tables.",
    "P.account.wall": "No read or write on any surface crosses into another account.",
    "I.duplicate": "A duplicate answer holds no content the caller may not read.",
    "I.reported": "An entry's author is the caller; reported authors are marked as reported, "
    "and reach a model as such.",
    "P.rights": "Every endpoint, tool and A2A method answers exactly the kinds of tokens its row of rights names.",
    "P.view.journal": "Every view of the journal shows the same entry with the same id and text.",
    "P.engine.two": "Everything works on SQLite and PostgreSQL; several processes never run two runs of one lane.",
    "P.door": "Every message enters through deliver(); no surface can skip policy, limits or provenance.",
    "P.client.typescript": "The TypeScript client calls the API, throws one kind of error, and resumes streams.",
    "P.settings": "Settings come from environment, file or default; an unknown name stops the start with a suggestion.",
    "T.settings.place": "Started from any directory, a data directory's settings apply; an agent whose gateway is "
    "missing fails with that reason.",
    "P.waiting": "A run that waits for a person is listed, can be answered or cancelled, and expires after 7 days.",
    "P.absent": "Document tree, memory map and server-side drafts are not offered, and nothing mentions them.",
    "P.ui.access": "No page has a serious finding of axe or is too wide, in light and dark, at 390 and 1440 pixels.",
    "P.ui.quiet": "A page that is live asks for nothing by itself.",
    "P.ui.hostile": "No name, title, Markdown, file name or tool result runs anything or loads anything foreign.",
    "P.ui.token": "The token leaves the address and is kept in no storage.",
    "P.ui.unknown": "Every unknown address has a page that says so.",
    "P.ui.unreached": "A page that is opened while the server is away says so in the frame, and opens when it is back.",
    "P.ui.people": "Two people on one board see each other's moves, and never each other's chats.",
    "P.ui.restart": "A restart in the middle of typing, dragging and streaming loses nothing; the page is live again "
    "without a reload.",
    "P.ui.keys": "With the keyboard alone a task is made, assigned, its question answered, reviewed and closed.",
    "P.stop": "A graceful stop refuses new runs with 503 and lets running turns end within server.drain_seconds.",
    "T.terminal": "What `carrel chat` printed stays on the screen.",
    "I.revoke": "Revocation ends open streams and sockets within a second on every server.",
    "I.transport": "No log line holds a raw transport id.",
    "P.kill": "Killing the process at any point loses no accepted message and repeats no write tool call.",
    "T.unreachable": "A gateway that does not answer delays a run up to `runs.unreachable_hours` without using "
    "attempts; the first success lets waiting runs go on.",
    "P.budget.bound": "A budget holds under 100 concurrent runs, also across a restart: it is overrun by no "
    "more than was in flight, and exactly as many runs begin as it has.",
    "P.budget.days": "What waits for a budget of a day or a month goes on by itself when the next one begins.",
    "P.budget.step": "What runs use is counted with each step, and a budget that is used up stops a turn "
    "before its next one.",
    "P.budget.why": "What waits for a budget says which one, how much it is, and until when.",
    "P.budget.warning": "Owners are told once when 80 % of a budget are used, and once when it is used up.",
    "P.budget.scopes": "Budgets are of an account, an agent, a task or a session, or of each of them, for a day, "
    "a month or forever.",
    "P.budget.warn": "A budget that only warns tells owners, and holds nothing.",
    "P.budget.cost": "A budget in dollars counts what gateways report, and the price of the rest.",
    "P.budget.settings": "Budgets of the settings hold where no owner has set another of that name.",
    "P.budget.wall": "A budget holds in its own account only.",
    "P.budget.deadline": "A run whose sender waits less long than a budget takes to begin anew fails with that reason.",
    "P.budget.cheap": "Without budgets, a turn asks for none and makes no statement more.",
    "P.budget.rights": "Only owners see, set, remove and allow budgets.",
}

PARTIAL: dict[str, str] = {}

DEFERRED: dict[str, dict[str, str]] = {}
