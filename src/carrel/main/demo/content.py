"""What the demo is about: the office of a city library, whose agents are called by what they do."""

from typing import NamedTuple


class Role(NamedTuple):
    """An agent of the demo."""

    id: str
    name: str
    model: str
    does: str


ROLES = (
    Role("editor", "Editor", "demo-large", "Decides what is published, reviews drafts and hands out work."),
    Role("researcher", "Researcher", "demo-large", "Finds sources, checks facts and says where they come from."),
    Role("writer", "Writer", "demo-small", "Writes drafts, notices and letters."),
    Role("analyst", "Analyst", "demo-small", "Counts loans and visits, and explains the figures."),
    Role("support", "Support", "demo-small", "Answers readers and collects what they ask for."),
    Role("release", "Release", "demo-small", "Publishes what was approved, and asks before it creates work."),
)
SPACES = (("Editorial", "#2f6f4f"), ("Research", "#8a5a00"), ("Reading rooms", "#3b5b92"))
TOPICS = (
    ("Autumn catalogue", 0), ("Reader letters", 2), ("Loan figures", 1), ("Opening hours", 2), ("Interview series", 0),
    ("Map of branches", 1), ("Winter programme", 0), ("Questions about the archive", 1),
)  # fmt: skip
ACTIONS = (
    "Draft", "Review", "Fact-check", "Shorten", "Illustrate", "Translate", "Publish", "Collect sources for",
    "Compare prices for", "Proofread", "Lay out", "Answer questions about", "Archive", "Plan", "Measure the reach of",
    "Update", "Print", "Announce", "Find a date for", "Write a summary of", "Check the links in", "Record",
    "Correct", "Index", "Ask readers about", "Estimate the cost of",
)  # fmt: skip
SUBJECTS = (
    "the autumn catalogue", "the opening hours page", "the guide to the archive", "the loan statistics",
    "the letter to new readers", "the map of branches", "the interview with the bookbinder", "the winter programme",
    "the price list for copies", "the reading list for schools", "the notice about the lift", "the annual report",
    "the page about lost books", "the film evening", "the survey of reading rooms", "the newsletter",
    "the exhibition of old maps", "the rules for the quiet room", "the poster for the book fair", "the donation form",
    "the audio guide", "the staff handbook", "the history of the building", "the children's corner",
    "the list of periodicals", "the evening lectures", "the bicycle delivery", "the repair of bindings",
    "the search help", "the wish list", "the local newspapers", "the summer reading club", "the delivery times",
    "the register of manuscripts", "the invitation to the choir", "the workshop on family trees", "the book bus",
    "the photo collection", "the yearly stocktaking",
)  # fmt: skip
TAGS = ("print", "web", "urgent", "school", "archive", "figures", "event")
QUESTIONS = (
    "Two sources disagree about the year in which the reading room opened: 1907 or 1911. Which one should I use?",
    "The catalogue has room for 24 pages, the draft has 27. Should I shorten it or ask the printer for more?",
    "Should the notice name the company that repairs the lift?",
    "The survey has 14 answers so far. Is that enough, or do I wait until Friday?",
    "Which of the three photos goes on the cover: the stairs, the map room or the courtyard?",
    "Readers ask for Sunday hours. May I mention that this is being discussed?",
)
REPLIES = (
    "Done. The text has 420 words and three subheadings; the figures are from the loan statistics of last month.",
    "I compared both versions. The second one is shorter and says the same, so I kept it and noted the difference.",
    "Here is the first draft:\n\n- what is new\n- where to find it\n- whom to ask\n\nThe photo is still missing.",
    "The figures are ready: **1,284 loans** in the week, 6 % more than in the week before.",
    "All 38 links were checked. Two lead nowhere:\n\n1. the page about the old lift\n2. the form for donations",
    "I have sorted the letters: 12 about opening hours, 7 about late fees, 3 that say thank you.",
    "The table:\n\n| branch | visits | loans |\n| --- | ---: | ---: |\n| Centre | 812 | 640 |\n| North | 305 | 288 |",
    "The source is the register of 1911, page 14. I added it as a note, so that it is found next time.",
)
SAID = (
    "How many readers asked for Sunday hours this week?", "Please shorten the second paragraph.",
    "Where does the figure for the branch in the north come from?", "Can we publish the notice on Monday?",
    "Thank you. What is left to do before the printer gets it?", "Please compare this with last year.",
    "Who has seen the draft so far?", "The photo of the stairs is better. Please use that one.",
)  # fmt: skip
FACTS = (
    ("decision", "The catalogue appears with 24 pages; what does not fit goes on the website."),
    ("constraint", "Names of readers are never printed without their consent."),
    ("preference", "Short sentences and no abbreviations in letters to readers."),
    ("fact", "The reading room opened in 1911; the year 1907 in older texts is wrong."),
    ("fix", "Links to the old donation form are replaced by the new address."),
    ("failure", "The printer refused a file with colours that it does not have."),
    ("result", "The survey closed with 41 answers."),
    ("fact", "Loan statistics are ready on the second working day of a month."),
)
PARTS = (
    ("Measure the shelves", "done"), ("Ask the mover for a price", "done"),
    ("Pack the maps of the coast", "in_progress"), ("Tell the readers", "inbox"),
)  # fmt: skip
FAULTS = (
    "The model refused the request: the attached scan has no text layer.",
    "The model's answer was cut off twice; the source list is too long for one step.",
    "The account at the model's provider has no credit left.",
)
NOTES = (
    "Printing dates: the file must be there at noon two days before.",
    "For photos of the building, the caption names the year and the collection.",
    "Figures are rounded to whole readers and loans.",
    "Letters are answered within three working days.",
)
CHAT_LINES = (
    ("Is the guide to the archive still in print?", "Yes, 60 copies are left at the desk in the centre."),
    ("My card does not work at the branch in the north.", "It was blocked because it had expired. It works again now."),
    ("May I bring my own scanner to the reading room?", "Yes, without flash, and not for manuscripts."),
    ("When does the book bus stop at the school?", "On Tuesdays from 14:00 to 15:30, except in the holidays."),
    ("I have returned a book, but it is still on my list.", "It was in the night return. The list is right now."),
    ("Can the evening lecture be watched from home?", "This one can; the link is on the page of the programme."),
)
