"""Chats of another style: short lines, as people write at work and at home, with words that all subjects share.

"Budget", "deadline" or "folder" are in lines of every subject; greetings and names are in every fifth line.
"""

import random
from collections.abc import Iterator

from bench.topic_lines import Line

ENGLISH = {
    "bakery": "oven door, bread counter, croissant, flour delivery, pastry chef, cake display, night shift bakers",
    "drone": "drone, propeller, battery pack, gimbal, flight permit, aerial footage, landing gear, remote controller",
    "swimming": "swimming pool, lifeguard, goggles, front crawl, chlorine level, swim team, diving board, lane booking",
    "crm": "CRM, lead import, contact merge, sales funnel, deal stage, account owner, duplicate contacts",
    "elevator": "elevator, lift cable, shaft, emergency call button, maintenance contract, lift cabin, TÜV inspection",
    "podcasting": "podcast, episode, microphone, jingle, show notes, guest, audio editing, download numbers",
    "solar": "solar panels, inverter, feed-in tariff, battery storage, roof mount, smart meter, electrician",
    "translation": "translation, glossary, proofreader, source text, localisation, translator, French version",
    "museum": "museum, exhibition, curator, ticket desk, audio guide, painting, school groups, gift shop",
    "sailing": "sailboat, mooring, spinnaker, regatta, life jacket, keel, marina, skipper licence",
    "dental": "dentist, crown, root canal, dental insurance, hygienist, x-ray, wisdom tooth",
    "search": "search ranking, index rebuild, synonyms list, autocomplete, query log, typo tolerance, facets",
    "logistics": "container, customs papers, freight forwarder, Rotterdam port, bill of lading, pallets, truck slot",
    "theatre": "stage play, rehearsal, costume, lighting desk, script, premiere, props, understudy",
    "aquarium": "aquarium, filter pump, guppies, algae, water test, heater, aquatic plants, catfish",
    "newsroom": "press release, journalist, interview request, embargo, headline, media list, press conference",
    "bugs": "crash report, stack trace, memory leak, regression, hotfix, null pointer, bug tracker",
    "ski": "ski pass, chalet, avalanche report, ski boots, snowboard, chairlift, powder, ski school",
    "coffee": "espresso machine, grinder, milk frother, beans, descaling, barista course, portafilter",
    "legal": "lawsuit, settlement, court date, witness, lawyer, claim, power of attorney, legal fees",
    "knitting": "knitting pattern, wool, needles, sweater, yarn shop, cable stitch, scarf, gauge swatch",
    "mobileapp": "push notification, app store review, iOS build, Android release, crash rate, splash screen",
}
GERMAN = {
    "bad": "Badsanierung, Fliesen, Dusche, Waschbecken, Klempner, Silikonfugen, Badewanne, Spiegelschrank",
    "imker": "Bienenstock, Honig, Königin, Waben, Imker, Varroa, Schwarm, Schleuder",
    "fuehrerschein": "Fahrschule, Führerschein, Fahrstunde, Theorieprüfung, Fahrlehrer, Sehtest, praktische Prüfung",
    "hochzeit": "Hochzeit, Standesamt, Brautkleid, Trauzeuge, Ringe, Hochzeitstorte, Einladungen",
    "bewerbung": "Bewerbung, Lebenslauf, Vorstellungsgespräch, Arbeitszeugnis, Gehaltsvorstellung, Probezeit",
    "haustier": "Katze, Tierarzt, Katzenklo, Impfung, Kratzbaum, Futter, Transportbox, Kastration",
    "rente": "Rentenbescheid, Rentenversicherung, Altersvorsorge, Beitragsjahre, Riester, Betriebsrente",
    "netzwerk": "WLAN, Router, Glasfaser, Netzwerkkabel, Bandbreite, Repeater, Hausanschluss, Techniker",
    "stromausfall": "Stromausfall, Sicherungskasten, Elektriker, Notstrom, FI-Schalter, Zähler, Steckdose",
    "kindergeburtstag": "Kindergeburtstag, Schatzsuche, Luftballons, Topfschlagen, Geburtstagskuchen",
    "produktion": "Fertigungslinie, Schichtplan, Ausschuss, Presse, Maschinenstillstand, Werkzeugwechsel",
    "theaterag": "Theaterstück, Bühnenbild, Textbuch, Premiere, Kostüme, Souffleuse, Probenplan",
    "urlaub": "Ferienhaus, Ostsee, Strandkorb, Fähre, Mietwagen, Anreise, Kurtaxe, Leuchtturm",
    "datenschutz": "Datenschutz, Einwilligung, Auskunftsanfrage, Löschkonzept, Auftragsverarbeitung, Cookie-Hinweis",
    "einkauf": "Bestellung, Lieferant, Rahmenvertrag, Rabatt, Angebot, Einkaufspreis, Mindestmenge",
    "schwimmkurs": "Schwimmkurs, Seepferdchen, Hallenbad, Schwimmlehrer, Badekappe, Schwimmbrille, Tauchring",
    "garage": "Garage, Garagentor, Wallbox, Werkbank, Stellplatz, Torantrieb, Winterreifenregal",
    "krankenhaus": "Krankenhaus, Operation, Station, Physiotherapie, Entlassung, Oberarzt, Narkose, Reha",
    "bibliothek": "Bibliothek, Ausleihe, Mahngebühr, Lesesaal, Fernleihe, Bibliotheksausweis, Signatur",
    "weinbau": "Weinberg, Lese, Riesling, Fass, Kelter, Rebschnitt, Winzer, Etikett",
}
_ENGLISH_FORMS = (
    "quick question about the {0}: is the {1} already sorted?",
    "the {0} is late again",
    "any news on the {0}?",
    "I talked to Sandra about the {0}, she wants the {1} first",
    "{0} looks fine now, {1} doesn't",
    "pls check the {0} before the meeting on {d}",
    "my budget for the {0} is about {n} euros",
    "we got an offer for the {0}, {n} in total",
    "customer asked twice about the {0} today",
    "honestly the {0} was a mistake",
    "let's postpone the {0} until the {1} is done",
    "the deadline for the {0} moved to {d}",
    "I uploaded a document with everything on the {0} and the {1}",
    "can you book something for the {0}?",
    "it broke again, the {0} I mean, right after the {1}",
    "next step would be the {0}",
    "agreed, {0} before {1}",
    "the report says {n} percent of the {0} failed",
    "not sure if the {0} or the {1} is to blame",
    "reminder: {0} on {d}",
    "photos of the {0} are in the shared folder",
    "what would you pay for a {0}?",
    "in my experience a {0} beats every {1}",
    "one more thing on the {0}: the {1} has to be ordered",
    "I'm done with the {0} :)",
    "could the {1} replace the {0}?",
)
_GERMAN_FORMS = (
    "kurze Frage zu {0}: ist {1} schon geklärt?",
    "{0} verzögert sich schon wieder",
    "gibt es was Neues zu {0}?",
    "ich habe mit Sandra über {0} gesprochen, sie will erst {1}",
    "bitte {0} vor der Besprechung am {d} prüfen",
    "für {0} haben wir ungefähr {n} Euro",
    "der Kunde hat heute zweimal nach {0} gefragt",
    "ehrlich gesagt war {0} ein Fehler",
    "die Frist für {0} ist jetzt der {d}",
    "lass uns {0} verschieben, bis {1} erledigt ist",
    "Fotos von {0} liegen im gemeinsamen Ordner",
    "kannst du für {0} etwas buchen?",
    "laut Bericht sind {n} Prozent bei {0} fehlgeschlagen",
    "Erinnerung: {0} am {d}",
    "bin mit {0} durch",
    "noch etwas zu {0}: {1} muss bestellt werden",
)
_FILLER = (
    "Thanks!", "thx", "Wow", "Cool", "lol", "ok", "Great, thank you", "hi all", "Hey Maria!", "Haha", "perfect",
    "Nice one, Tom", "sure", "Danke dir", "Moin", "super", "alles klar", "Bis morgen!", "ja", "You're welcome!",
    "That's amazing, Joanna", "Really?", "Oh no", "brb", "See you on Monday", "have a great weekend everyone",
)  # fmt: skip
_OPENERS = ("Hey {0}, ", "{0}, ", "Thanks {0}! ", "Wow {0}! ")
_NAMES = ("Maria", "Jolene", "Deborah", "Nate", "Aylin", "Ravi")
_DAYS = ("Monday", "Tuesday", "Friday", "14th", "3.5.")
LINES_PER_SUBJECT, LINES_PER_BLOCK, CHATS = 38, (2, 10), 40
_FILLER_SHARE, _OPENER_SHARE = 0.2, 0.2
_LINE_SECONDS, _BLOCK_SECONDS, _CHAT_SECONDS = 40, 900, 20_000


def short_lines(seed: int = 1) -> list[Line]:
    """Return chats that wander between all subjects; the same for the same seed."""
    chance, lines, moment = random.Random(seed), list[Line](), 1_700_000_000
    blocks = [subject for subject in (*ENGLISH, *GERMAN) for _ in range(LINES_PER_SUBJECT * 2 // sum(LINES_PER_BLOCK))]
    chance.shuffle(blocks)
    for number, subject in enumerate(blocks):
        chat = number * CHATS // len(blocks)
        is_new = chat > (number - 1) * CHATS // len(blocks)
        moment += _CHAT_SECONDS if is_new else chance.choice((0, _BLOCK_SECONDS))
        for text, about in _block(chance, subject):
            moment += _LINE_SECONDS
            lines.append(Line(f"short-{chat}", moment, text, about))
    return lines


def _block(chance: random.Random, subject: str) -> Iterator[tuple[str, str | None]]:
    is_english = subject in ENGLISH
    words = (ENGLISH if is_english else GERMAN)[subject].split(", ")
    for _ in range(chance.randint(*LINES_PER_BLOCK)):
        if chance.random() < _FILLER_SHARE:
            yield chance.choice(_FILLER), None
        form = chance.choice(_ENGLISH_FORMS if is_english else _GERMAN_FORMS)
        opener = chance.choice(_OPENERS).format(chance.choice(_NAMES)) if chance.random() < _OPENER_SHARE else ""
        amount = chance.randint(3, 900)
        yield opener + form.format(*chance.sample(words, 2), d=chance.choice(_DAYS), n=amount), subject
