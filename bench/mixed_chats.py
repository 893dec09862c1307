"""Chats of people who write in German, Spanish or English: short lines, much slang. Two of them mix all three.

Neither their subjects nor their phrases, greetings and names are those of the other chats.
"""

import random
from collections.abc import Iterator, Sequence

from bench.topic_lines import Line

WORDS = {
    "de": {
        "garten": "Rasenmäher Hecke Komposthaufen Rosenbeet Unkraut Gießkanne Rollrasen Vertikutierer",
        "imkerei": "Bienenvolk Waben Honigschleuder Varroa Königin Beute Imkerkurs Rähmchen",
        "umzug": "Umzugskartons Transporter Nachsendeauftrag Möbelpacker Halteverbot Klavier Kaution Schlüsselübergabe",
        "chor": "Chorprobe Sopran Notenblatt Dirigentin Konzertkleidung Stimmbildung Altstimme Weihnachtsoratorium",
        "bäckerei": "Sauerteig Brötchen Backofen Brezeln Mehl Gärkorb Roggen Laugengebäck",
        "feuerwehr": "Löschfahrzeug Atemschutz Schlauch Drehleiter Einsatzleiter Hydrant Sirene Pager",
        "steuer": "Steuererklärung Finanzamt Freibetrag Bescheid Werbungskosten Elster Abschreibung Nachzahlung",
        "kita": "Kitaplatz Erzieherin Eingewöhnung Elternabend Brotdose Matschhose Gruppenraum Laternenfest",
        "wandern": "Wanderschuhe Berghütte Gipfel Klettersteig Rucksack Wegweiser Seilbahn Höhenmeter",
        "arzt": "Blutbild Überweisung Krankenkasse Rezept Physiotherapie Wartezimmer Impfung Orthopäde",
        "heizung": "Wärmepumpe Fußbodenheizung Thermostat Heizkörper Installateur Vorlauftemperatur Gasrechnung",
        "hund": "Welpe Leine Hundeschule Tierheim Zecken Napf Halsband Maulkorb",
    },
    "es": {
        "piso": "alquiler fianza casero contrato inmobiliaria trastero ascensor comunidad",
        "guitarra": "guitarra cuerdas acordes amplificador púa ensayo afinador partitura",
        "cocina": "paella arroz azafrán gambas sartén sofrito caldo mejillones",
        "dentista": "muela caries ortodoncia empaste encía radiografía anestesia dentista",
        "viaje": "vuelo maleta pasaporte hotel embarque escala aeropuerto billete",
        "gimnasio": "pesas sentadillas entrenador cinta cuota abdominales mancuernas gimnasio",
        "examen": "examen apuntes biblioteca profesora asignatura matrícula suspenso recuperación",
        "bici": "bicicleta cadena freno pinchazo sillín casco pedal carril",
        "teatro": "obra ensayo vestuario escenario telón actriz guion estreno",
        "perro": "perro correa veterinario cachorro pienso vacuna collar pulgas",
        "vino": "bodega barrica uva vendimia cosecha cata corcho viñedo",
        "tele": "serie capítulo temporada mando pantalla tráiler subtítulos protagonista",
    },
    "en": {
        "k8s": "pod ingress helm namespace kubelet rollout configmap autoscaler",
        "choir": "altos descant sheet-music conductor rehearsal harmonies tenor hymn",
        "allotment": "courgettes slugs polytunnel manure raspberries seedlings wheelbarrow shed",
        "vet": "worming kitten flea microchip neutering cattery vet litter",
        "payroll": "payslip pension overtime P45 salary bonus deductions timesheet",
        "mortgage": "mortgage solicitor survey deposit lender completion remortgage valuation",
        "brewing": "hops wort fermenter malt yeast airlock bottling keg",
        "chess": "opening endgame rook gambit knight checkmate Elo pawn",
        "festival": "tent wristband headliner campsite lineup shuttle portaloo stage",
        "newsletter": "subject-line subscribers unsubscribe mailing template clickthrough segment draft",
        "genealogy": "ancestors census parish baptism records grandfather surname archive",
        "etl": "pipeline warehouse partition backfill schema airflow ingestion parquet",
        "knitting": "yarn needles cardigan stitch sleeve ribbing pattern wool",
        "rowing": "oars coxswain regatta erg boathouse sculling crew stroke",
        "fungi": "chanterelle spores porcini basket woodland puffball foraging gills",
        "stocks": "dividend portfolio broker shares index earnings ETF volatility",
    },
}
PHRASES = {
    "de": (
        "{a} ist immer noch kaputt", "hat jemand {a} gesehen?", "{a} und {b} müssen bis Montag da sein",
        "ich kümmer mich um {a}", "wegen {a}: ruf ich morgen an", "{b} war teurer als gedacht, 80 Euro",
        "ohne {a} geht das nicht weiter", "kannst du {b} mitbringen?", "hab {a} endlich erledigt",
        "{a} schon wieder... und dann auch noch {b}", "wer bezahlt {b}?", "das mit {a} klappt so nicht, lieber {b}",
        "{b} liegt bei mir im Keller", "Foto von {a} kommt gleich",
    ),
    "es": (
        "¿alguien sabe algo de {a}?", "lo de {a} está arreglado", "{a} me ha costado 60 euros, y {b} otros 20",
        "mañana miro {a}", "no encuentro {a} por ningún lado", "sin {b} no podemos seguir", "¿puedes traer {a}?",
        "ya tengo {a} y también {b}", "otra vez problemas con {a}", "hay que decidir lo de {b} antes del jueves",
        "me han cambiado {a}", "yo prefiero {b} antes que {a}", "te mando una foto de {a}",
        "creo que {b} no hace falta",
    ),
    "en": (
        "anyone seen the {a}?", "{a} is still broken tbh", "sorted the {a}, {b} next",
        "need a decision on {b} by thursday", "can't do anything without the {a}", "{a} again... and the {b} too",
        "i'll ring about the {a} tomorrow", "paid 45 quid for the {b}", "what happened to the {b}?",
        "reckon we skip {b} and just do {a}", "pic of the {a} incoming", "{b} turned up today",
        "who's on {a} this week?", "the {a} looks way better now",
    ),
}  # fmt: skip
FILLER = {
    "de": (
        "haha", "na gut", "moin", "Danke dir, Ayşe", "joa", "bin dabei", "Prima, Jürgen!", "ach so",
        "schönen Feierabend", "gern geschehen",
    ),
    "es": (
        "jajaja", "vale", "buenas", "gracias, Ximena", "qué risa", "me apunto", "buenos días a todos", "ay no",
        "hasta luego", "de nada, Íñigo",
    ),
    "en": (
        "lol", "ok cool", "cheers Oluwaseun", "haha nice", "morning all", "gotcha", "ta", "brill, thanks Siobhán",
        "omg", "night all",
    ),
}  # fmt: skip
PEOPLE = ("Ayşe", "Jürgen", "Ximena", "Oluwaseun", "Siobhán", "Wojciech", "Priyanka", "Íñigo")
# Subjects of a chat, and those of the chats that mix languages.
_SUBJECTS, _MIXED = 5, 6
_PAUSES, _STEPS, _RUNS = (60, 90, 3_000), (20, 60, 90), (1, 2, 3, 4, 5)
_ADDRESSED, _POLITE = 0.12, 0.15


def mixed_lines(seed: int = 7, lines: int = 34) -> list[Line]:
    """Return the lines of all chats, in order: so many about each subject."""
    dice = random.Random(seed)
    chats = dict(_chats(dice))
    left = dict.fromkeys((subject for subjects in chats.values() for subject in subjects), lines)
    said, moment = list[Line](), 1_700_000_000
    while open_chats := [name for name, subjects in chats.items() if any(left[each] for each in subjects)]:
        chat = dice.choice(open_chats)
        subject = dice.choice([each for each in chats[chat] if left[each]])
        moment += dice.choice(_PAUSES)
        for _ in range(min(left[subject], dice.choice(_RUNS))):
            left[subject] -= 1
            for text, is_about in _said(dice, subject):
                moment += dice.choice(_STEPS)
                said.append(Line(chat, moment, text, subject if is_about else None))
    return said


def _chats(dice: random.Random) -> Iterator[tuple[str, Sequence[str]]]:
    """The chats with their subjects; a subject is named with its language."""
    everything = list[str]()
    for language, subjects in WORDS.items():
        names = [f"{language}:{subject}" for subject in subjects]
        dice.shuffle(names)
        everything += names
        for at in range(0, len(names), _SUBJECTS):
            yield f"{language}-{at}", names[at : at + _SUBJECTS]
    dice.shuffle(everything)
    for at in (0, _MIXED):
        yield f"mixed-{at}", everything[at : at + _MIXED]


def _said(dice: random.Random, subject: str) -> Iterator[tuple[str, bool]]:
    """What is said about a subject, sometimes to somebody, and sometimes with a polite line after it."""
    language, _, name = subject.partition(":")
    one, other = dice.sample(WORDS[language][name].split(), 2)
    text = dice.choice(PHRASES[language]).format(a=one, b=other)
    if dice.random() < _ADDRESSED:
        text = dice.choice(("{}: {}", "@{} {}")).format(dice.choice(PEOPLE), text)
    yield text, True
    if dice.random() < _POLITE:
        yield dice.choice(FILLER[language]), False
