"""Chats with few lines on each subject: in English, and in Polish, of which the sorter knows no word.

Nor does it know most of the names, nor the greetings of the second language.
"""

import random
from collections.abc import Iterator

from bench.topic_lines import Line

ENGLISH = {
    "roof": "shingles, gutter, roofer, attic, leak above the stairs, flashing, insulation batts, ridge vent",
    "podcast": "episode outline, microphone, intro music, guest interview, show notes, audio levels, RSS feed",
    "taxes": "tax return, deductible, accountant, estimated payments, receipts folder, audit letter",
    "aquarium": "guppies, filter pump, algae, nitrate test, heater, gravel vacuum, snails, quarantine tank",
    "ci": "build pipeline, flaky test, runner image, cache key, artifact upload, merge queue, lint stage",
    "bees": "hive, queen cell, smoker, honey frames, varroa mites, swarm, beeswax, nectar flow",
    "sleep": "insomnia, bedtime, melatonin, blackout curtains, sleep tracker, naps, snoring",
    "moving": "moving van, cardboard boxes, lease, landlord, utilities transfer, storage unit, bubble wrap",
    "cycling": "derailleur, inner tube, chain lube, gravel ride, panniers, brake pads, saddle height",
    "piano": "sonata, metronome, scales, recital, sheet music, pedal technique, left hand part",
    "budget": "quarterly forecast, headcount, travel spend, cost centre, CFO deck, variance, burn rate",
    "security": "phishing mail, password manager, penetration test, CVE, patch window, VPN certificate",
    "cheese": "curds, rennet, cheddar wheel, cheese cave, brine, whey, starter culture, cheesecloth",
    "birds": "binoculars, warbler, nesting box, migration count, wetland reserve, field guide, osprey",
    "knee": "physio, meniscus, knee brace, MRI scan, crutches, orthopaedic surgeon, rehab exercises",
    "solar": "solar panels, inverter, feed-in tariff, roof orientation, battery storage, installer quote",
    "theatre": "audition, stage lights, props table, dress rehearsal, monologue, ticket sales, costume rack",
    "legal": "NDA, contract redline, indemnity clause, jurisdiction, counsel, signature page",
}
POLISH = {
    "garden": "grządka, pomidory, kompost, szklarnia, konewka, ślimaki, nasiona, kosiarka",
    "renovation": "kafelki, hydraulik, farba, gładź, panele, wiertarka, tynk, ekipa remontowa",
    "dog": "szczeniak, smycz, weterynarz, karma, szczepienie, buda, tresura",
    "mountains": "szlak, schronisko, Tatry, plecak, raki, lawina, przełęcz",
    "nursery": "przedszkole, zebranie rodziców, wyprawka, jasełka, leżakowanie",
    "kitchen": "pierogi, ciasto, barszcz, zakwas, żurek, kapusta, makowiec",
    "car": "opony zimowe, przegląd, olej, sprzęgło, akumulator, warsztat",
    "wedding": "sala weselna, orkiestra, suknia, zaproszenia, obrączki, poprawiny",
    "hospital": "skierowanie, ortopeda, rehabilitacja, gips, rezonans, kolejka NFZ",
    "flat": "kredyt, notariusz, czynsz, deweloper, wkład własny, odbiór mieszkania",
}
_FORMS = {
    "en": (
        "so the {0} thing: I talked to them and it should be fine", "ok the {0} is done, on to the {1}",
        "any news on the {0}?", "the {0} came back with a {1} problem", "ugh, the {0} again",
        "I'd rather do the {0} before we look at the {1}", "fyi {0} slipped to thursday", "found a cheap {0} yesterday",
        "we need to talk about the {0} and maybe the {1}", "does anyone still have the {0}?",
        "why is the {0} so slow this year", "reminder: {0} and {1} are due on the 14th", "half of the {0} is broken",
        "first the {0}, then {1}, and {2} if there is time left",
    ),
    "pl": (
        "co robimy z tym: {0}?", "{0} już gotowe, teraz {1}", "znowu {0}, mam dość",
        "kto się zajmie tym razem: {0}?", "{0} kosztuje więcej niż myślałem", "bez tego {0} nie ma sensu",
        "najpierw {0}, potem {1}, na końcu {2}", "wczoraj oglądałam {0} i jestem zadowolona",
        "możesz mi wysłać notatki: {0}?", "{0} trzeba przełożyć na czwartek",
    ),
}  # fmt: skip
_FILLER = {
    "en": (
        "lol", "yep", "thx!!", "cheers {0}", "morning all", "hey {0}, long time no see!", "gotcha", "back now",
        "sorry, was in a meeting", "congrats {0}!!", "how was your weekend?", "what a day",
    ),
    "pl": (
        "hej {0}", "dzięki!", "cześć wszystkim", "no jasne", "spoko", "dobranoc", "dobra, do jutra", "wow, serio?",
        "gratulacje {0}!", "dzień dobry",
    ),
}  # fmt: skip
_OPENERS = ("@{} ", "hey {}, ", "{}, ", *[""] * 27)
_NAMES = ("Wojtek", "Agnieszka", "Siobhan", "Rohan", "Zofia", "Malik")
_CHATS, _SUBJECTS, _LINES, _FILLER_SHARE = 18, (2, 4), (2, 6), 0.2


def sparse_lines(seed: int = 1) -> list[Line]:
    """Return chats with about seven lines on each subject; the same for the same seed."""
    chance, lines, moment, waiting = random.Random(seed), list[Line](), 1_730_000_000, list[str]()
    for number in range(_CHATS):
        moment += 30_000
        for _ in range(chance.randint(*_SUBJECTS)):
            waiting = waiting or chance.sample([*ENGLISH, *POLISH], len(ENGLISH) + len(POLISH))
            subject = waiting.pop()
            moment += chance.choice((0, 0, 1_200))
            for text, about in _block(chance, subject):
                moment += chance.randint(5, 120)
                lines.append(Line(f"sparse-{number}", moment, text, about))
    return lines


def _block(chance: random.Random, subject: str) -> Iterator[tuple[str, str | None]]:
    language, words = ("en", ENGLISH[subject]) if subject in ENGLISH else ("pl", POLISH[subject])
    for _ in range(chance.randint(*_LINES)):
        if chance.random() < _FILLER_SHARE:
            yield chance.choice(_FILLER[language]).format(chance.choice(_NAMES)), None
        opener = chance.choice(_OPENERS).format(chance.choice(_NAMES))
        yield opener + chance.choice(_FORMS[language]).format(*chance.sample(words.split(", "), 3)), subject
