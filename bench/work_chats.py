"""Chats of a small company, written by hand: twelve subjects in four chats, as people write at work.

Each line begins with the name of its subject; a dash stands before what is said only to be polite.
"""

from bench.topic_lines import Line

_CHATS = """\
- Morning all
login: The login page on staging throws a 500 when I use my work account
login: seems to happen only after the password reset mail
login: I cleared the cookies, still the same error after signing in
- ok thanks
invoices: Accounting asks why the March invoices are missing from the export
invoices: the nightly export of invoices stopped at 2 am with a timeout
invoices: can we run it by hand for the customers in Austria?
- sure
office: The new desks for the second floor arrive on Thursday
office: somebody has to let the movers in, they come at seven
office: do we still need the old chairs or can they take them?
login: Found it: the reset token is stored without the time zone and sign-in rejects it
login: fix for the sign-in is on staging, please test with a fresh account
- great, thank you Priya!
hiring: We have three candidates for the backend position
hiring: the second one did the coding exercise really well, I would invite her
hiring: interview on Tuesday at ten, who joins?
hiring: I can do the technical part of the interview, someone else should talk about salary
backup: Last night's backup of the main database failed, disk full
backup: deleted the oldest snapshots, now there are 200 GB free
backup: we should get an alert before the disk runs full again
- yes
#
- Hi everybody, how was your weekend?
conference: Have you looked at the programme of the conference in Berlin?
conference: I would like to give a talk there about our event queue
conference: deadline for talk proposals is the 15th
conference: early bird tickets are 300 euros each, shall I buy four?
pricing: Sales wants a cheaper plan for schools
pricing: per seat or a flat price per school?
pricing: flat, otherwise they have to count pupils and nobody does that
pricing: I put a draft of the price list into the shared folder
mobile: The Android app crashes when the phone is turned sideways in the settings screen
mobile: I see the same crash on a Pixel 6, not on the tablet
mobile: stack trace says the fragment is gone when the rotation happens
mobile: release with the rotation fix goes to the store tomorrow
- awesome!
hiring: She accepted! Our new backend developer starts on the first of June
hiring: we need a laptop and accounts for her before that
hiring: who writes the contract for the new developer?
pricing: Schools in Bavaria asked whether the price includes support
pricing: let us say support by mail is included, phone costs extra
invoices: The export of invoices timed out again, this time for April
invoices: it reads all customers at once, I will change it to pages of 500
- nice
#
website: Can someone proofread the new text for the home page?
website: the headline sounds a bit like every other startup
website: how about we show the customer quotes higher up on the home page?
website: the picture at the top loads slowly, 4 MB is too much
website: compressed the picture, the home page now loads in under a second
- wow, cool
support: A customer in Lyon cannot reach us by phone since Monday
support: the hotline forwards to the old number, that contract ended
support: changed the forwarding, hotline works again
support: tickets from last week: 48 new, 41 solved, most about exports
conference: My talk was accepted, it is on the second day of the conference
conference: somebody needs to book hotel rooms in Berlin near the venue
conference: I will practise the talk in the team meeting next week
backup: Restore test of the database backup went fine, took 40 minutes
backup: I added an alert at 80 percent disk usage
backup: should we keep snapshots for 30 or 60 days?
- see you tomorrow
office: The coffee machine on our floor is broken again
office: repair costs 400, a new machine about 900
office: let us buy a new one, and please no capsules
office: the lift is out of order on Friday, use the stairs
#
- hello hello
security: The auditors want to see who has admin rights
security: I made a list of all admin accounts, 9 people, that is too many
security: let us remove admin rights from everyone outside operations
security: auditors also ask for our password policy in writing
website: Analytics shows that most visitors leave at the sign-up form
website: the sign-up form has eleven fields, nobody needs the fax number
website: cut the form down to four fields, sign-ups doubled since yesterday
search: Search results on the help pages are useless for two words
search: it ranks by date, not by how well the page fits
search: I changed the ranking so that titles count more, looks much better
search: typos still give no results at all in the help search
- thanks a lot, Marco
mobile: Someone reports that push notifications arrive twice on iPhones
mobile: the app registers a second device token after each update
mobile: duplicate tokens are removed on the server now, notifications come once
security: Two people still share the admin password of the router
security: moved it into the password safe, rotation every 90 days
support: Customer from Porto wants a refund because of last week's outage
support: refund is fine, one month for everybody who asked
support: wrote an answer template for questions about the outage
search: The index of the help pages is rebuilt every night now
search: a search for refund finds the right page at last
"""


def written_lines() -> list[Line]:
    """Return the lines of all chats, in order."""
    lines, moment = list[Line](), 1_700_000_000
    for number, chat in enumerate(_CHATS.split("#\n")):
        moment += 40_000
        for said in chat.splitlines():
            moment += 90
            subject, _, text = said.partition(": ")
            polite = said.removeprefix("- ")
            line = Line(f"work-{number}", moment, polite, None) if polite != said else None
            lines.append(line or Line(f"work-{number}", moment, text, subject))
    return lines
