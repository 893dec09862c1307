"""Chats with known subjects: lines made from small vocabularies in two languages, and a few chats written by hand.

Every line has the name of its subject, or none where it is a greeting or filler.
"""

import random
from collections.abc import Iterator

from msgspec import Struct

# The words of each subject; all of them are things that somebody could talk about with the verbs below.
ENGLISH = {
    "pottery": "clay, kiln, glaze, pottery wheel, bowl, mug, firing, stoneware, slip, ceramics class",
    "marathon": "marathon, training plan, long run, pace, running shoes, race day, half marathon, blisters, energy gel",
    "sourdough": "sourdough, starter, rye flour, crust, proofing basket, loaf, oven, hydration, dough, baking stone",
    "login": "login page, password reset, session cookie, single sign-on, two-factor code, lockout, OAuth callback",
    "invoices": "invoice import, billing run, overdue invoice, VAT number, credit note, ledger, payment terms, dunning",
    "kubernetes": "cluster, node pool, ingress, helm chart, pod, rollout, namespace, autoscaler, staging cluster",
    "kitchen": "countertop, cabinet doors, backsplash, tiles, sink, contractor, kitchen island, dishwasher",
    "lisbon": "flights to Lisbon, hotel, tram, Alfama, river view, boarding pass, old town, airport transfer",
    "puppy": "puppy, vet, leash, crate, services training, vaccination, chew toys, dog park, kibble, obedience class",
    "guitar": "guitar, chord, barre chords, strings, amplifier, practice, riff, tuner, fingerpicking, music teacher",
    "hiring": "candidate, interview, job posting, offer letter, onboarding, referral, salary band, recruiter",
    "garden": "tomatoes, raised bed, compost, seedlings, watering, slugs, greenhouse, mulch, zucchini, trellis",
    "website": "landing page, headline, hero image, conversion rate, signup form, banner, copywriting, analytics",
    "database": "postgres, index, slow query, migration, replica, vacuum, deadlock, connection pool, query plan",
    "wedding": "wedding, guest list, caterer, florist, venue, vows, seating chart, photographer, bridesmaids, cake",
    "chess": "chess club, opening, endgame, bishop, tournament, rating, sicilian, checkmate, blitz game, chess engine",
    "mortgage": "mortgage, interest rate, down payment, appraisal, closing costs, lender, refinancing, escrow, loan",
    "photography": "camera, lens, tripod, exposure, darkroom, portrait, long exposure, shutter, film roll",
    "newsletter": "newsletter, subscribers, open rate, unsubscribe link, mailing list, subject line, spam folder",
    "printer": "printer, toner, paper jam, print queue, scanner, tray two, driver, duplex, cartridge, print server",
    "camping": "tent, sleeping bag, campsite, campfire, hiking trail, camp stove, mosquitoes, backpack, trailhead",
    "audit": "audit, access review, evidence, auditor, control list, compliance, findings, risk register",
    "checkout": "checkout, shopping cart, coupon code, card payment, refund, shipping address, Stripe",
    "yoga": "yoga, meditation, breathing, yoga mat, stretching, downward dog, retreat, posture, morning session",
}  # fmt: skip
GERMAN = {
    "umzug": "Umzug, Umzugskartons, Transporter, neue Wohnung, Vermieter, Kaution, Schlüsselübergabe, Möbel",
    "fahrrad": "Fahrrad, Kette, Bremsbeläge, Gangschaltung, Radtour, Reifen, Werkstatt, Helm, Fahrradschloss",
    "steuer": "Steuererklärung, Finanzamt, Belege, Elster, Steuerbescheid, Freibetrag, Werbungskosten, Steuerberater",
    "heizung": "Heizung, Wärmepumpe, Thermostat, Heizkörper, Vorlauf, Handwerker, Dämmung, Förderantrag, Gasrechnung",
    "schule": "Elternabend, Klassenlehrerin, Zeugnis, Hausaufgaben, Schulranzen, Mathearbeit, Klassenfahrt",
    "server": "Serverraum, Festplatte, Sicherung, Netzteil, Switch, Firewall, Virtualisierung, Wartungsfenster",
    "messe": "Messestand, Aussteller, Flyer, Standaufbau, Visitenkarten, Messebesucher, Hallenplan, Vortrag, Banner",
    "vertrag": "Mietvertrag, Kündigungsfrist, Klausel, Unterschrift, Anwalt, Vertragsentwurf, Laufzeit, Nachtrag",
    "chor": "Chorprobe, Sopran, Noten, Konzert, Dirigent, Stimmbildung, Tenor, Kirche, Generalprobe, Liedtext",
    "kochen": "Kürbissuppe, Rezept, Knoblauch, Pfanne, Gewürze, Backofen, Nudelteig, Zwiebeln, Gäste, Vorspeise",
    "versicherung": "Haftpflicht, Versicherung, Schaden, Selbstbeteiligung, Gutachter, Police, Beitrag",
    "auto": "Auto, TÜV, Winterreifen, Ölwechsel, Kupplung, Probefahrt, Händler, Bremsen, Kilometerstand, Leasing",
    "kita": "Kita, Eingewöhnung, Erzieherin, Kitaplatz, Bring- und Abholzeit, Wickeltasche, Elternbeirat",
    "wandern": "Wanderung, Hütte, Gipfel, Wanderschuhe, Höhenmeter, Alpen, Rucksack, Wetterumschwung, Klettersteig",
    "zahnarzt": "Zahnarzt, Krone, Termin, Zahnreinigung, Füllung, Betäubung, Heilkostenplan, Backenzahn, Röntgenbild",
    "lager": "Lager, Inventur, Palette, Lieferschein, Gabelstapler, Bestand, Regal, Wareneingang, Kommissionierung",
    "verein": "Fußballverein, Trainer, Trikots, Auswärtsspiel, Mannschaft, Torwart, Sportplatz, Vereinsheim, Tabelle",
    "buch": "Roman, Kapitel, Verlag, Lektorat, Manuskript, Klappentext, Lesung, Hauptfigur, Autorin, Taschenbuch",
}  # fmt: skip
_ENGLISH_FORMS = (
    "I have to look at the {0} again because the {1} is not what I expected.",
    "Did you see what happened with the {0}?",
    "The {0} worked out well, but the {1} still needs some time.", "What do we do about the {0}?",
    "We decided to change the {0} before we touch the {1}.", "I think the {0} is the real problem here.",
    "Somebody told me that the {0} and the {1} should go together.", "How long did the {0} take you last time?",
    "The {1} arrived yesterday, so I can start with the {0}.", "I am still not happy with the {0}.",
    "Can you send me your notes on the {0} and the {1}?", "Next week I want to finish the {0}.",
    "It is always the {0} that takes longest.", "My plan is to begin with the {0}, then the {1}, and later the {2}.",
    "The {0} costs more than we thought.", "Who takes care of the {0} this time?",
    "I read that a good {0} depends on the {1}.", "Without a proper {0} there is no point in the {1}.",
)  # fmt: skip
_GERMAN_FORMS = (
    "Ich muss mir das mit {0} noch einmal ansehen, weil {1} nicht passt.", "Was machen wir mit {0}?",
    "Hast du schon gehört, was mit {0} passiert ist?", "{0} hat gut geklappt, aber {1} braucht noch Zeit.",
    "Wir haben beschlossen, zuerst {0} und dann {1} anzugehen.", "Ich glaube, {0} ist das eigentliche Problem.",
    "Kannst du mir deine Notizen zu {0} und {1} schicken?", "Nächste Woche will ich {0} fertig haben.",
    "Mit {0} bin ich immer noch nicht zufrieden.", "Wer kümmert sich diesmal um {0}?",
    "Ohne {0} hat {1} keinen Sinn.", "Für {0} haben wir letztes Mal zwei Tage gebraucht.",
    "{0} kostet mehr als gedacht, {1} dafür weniger.", "Erst {0}, danach {1} und am Ende {2}.",
)  # fmt: skip
_FILLER = (
    "Thanks!", "Thank you so much, Maria!", "Wow, that's great!", "Cool.", "Haha, nice one.", "Sounds good to me.",
    "Oh really?", "That's awesome, Jon!", "Good morning everyone!", "Hey Ben, how are you doing?", "I see.",
    "Yes, exactly.", "Okay, let me think about it.", "Absolutely!", "No worries.", "See you later!", "Have a nice day!",
    "Danke!", "Vielen Dank, Anna!", "Guten Morgen!", "Super, das freut mich.", "Klingt gut.", "Ach wirklich?",
    "Ja, genau.", "Hallo Jonas, wie geht's?", "Alles klar.", "Bis später!", "Kein Problem.", "Echt toll!",
)  # fmt: skip
_OPENERS = ("Hey {0}! ", "Thanks, {0}. ", "Wow, {0}! ", "Hi {0}, ", "", "", "", "", "", "", "", "")
_NAMES = ("Maria", "Jon", "Ben", "Anna", "Jonas", "Lena", "Tim", "Gina")
CHATS, BLOCKS_PER_CHAT, LINES_PER_BLOCK = 60, (3, 7), (3, 9)
_FILLER_SHARE = 0.15
# From one line to the next, before half of the blocks, and from one chat to the next.
_LINE_SECONDS, _BLOCK_SECONDS, _CHAT_SECONDS = 40, 900, 20_000


class Line(Struct, frozen=True):
    """One line of a chat, and its subject."""

    chat: str
    at: int
    text: str
    subject: str | None


def made_lines(seed: int = 1) -> list[Line]:
    """Return chats that wander between all subjects; the same for the same seed."""
    chance, lines, moment = random.Random(seed), list[Line](), 1_700_000_000
    subjects = [*ENGLISH, *GERMAN]
    waiting = list[str]()
    for number in range(CHATS):
        moment += _CHAT_SECONDS
        for _ in range(chance.randint(*BLOCKS_PER_CHAT)):
            # Every subject gets about as many blocks as any other.
            waiting = waiting or chance.sample(subjects, len(subjects))
            subject = waiting.pop()
            moment += chance.choice((0, _BLOCK_SECONDS))
            for text, about in _block(chance, subject):
                moment += _LINE_SECONDS
                lines.append(Line(f"chat-{number}", moment, text, about))
    return lines


def _block(chance: random.Random, subject: str) -> Iterator[tuple[str, str | None]]:
    is_english = subject in ENGLISH
    words = (ENGLISH if is_english else GERMAN)[subject].split(", ")
    for _ in range(chance.randint(*LINES_PER_BLOCK)):
        if chance.random() < _FILLER_SHARE:
            yield chance.choice(_FILLER), None
        form = chance.choice(_ENGLISH_FORMS if is_english else _GERMAN_FORMS)
        opener = chance.choice(_OPENERS).format(chance.choice(_NAMES))
        yield opener + form.format(*chance.sample(words, 3)), subject
