"""Webhooks of other programs."""

BUILT = {
    "P.webhook.settings": "Four lines of settings make a webhook; a mistake in them is reported at the start.",
    "P.webhook.secret": "A secret is named and not written: a variable, or a file that only its owner can read.",
    "P.webhook.signed": "What is not signed with the secret, or long ago, is refused and counted, and not kept.",
    "P.webhook.handshake": "The questions of Slack and GitHub whether somebody is there are answered.",
    "P.webhook.events": "Events that the settings do not name are ignored, and so is what bots did, unless wanted.",
    "P.webhook.message": "A delivery becomes a message to the agent or the session that the settings name.",
    "P.webhook.task": "A delivery becomes a task where the settings say, assigned to whom they say.",
    "P.webhook.thread": "Deliveries about the same thing go to the same task or session.",
    "P.webhook.voice": "What others wrote is quoted line by line, and never reads like a word of ours.",
    "P.webhook.once": "A delivery is carried out once, however often, wherever and whenever it is sent again.",
    "P.webhook.failed": "What fails is kept with its reason, leaves nothing behind, and can be carried out again.",
    "P.webhook.wall": "A webhook is of one account; no other sees its deliveries or repeats them.",
    "P.webhook.rights": "Only owners see webhooks and deliveries, and repeat them.",
    "P.webhook.list": "Owners see each webhook with its address, and the last deliveries with what became of them.",
    "P.webhook.test": "A trial shows what a delivery would become, and does nothing.",
    "P.webhook.kept": "Deliveries are kept for two weeks, and the bodies of the newest ones of each webhook.",
    "P.webhook.cli": "carrel webhooks lists webhooks and deliveries, repeats them, and tries settings.",
    "P.webhook.page": "The page Webhooks shows all of that, live, with links to what was made.",
}
DEFERRED: dict[str, dict[str, str]] = {}
PARTIAL: dict[str, str] = {}
