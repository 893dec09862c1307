"""Words that do not reveal the subject of a message: they neither create nor name a topic.

English and German; for Spanish and French only function words and greetings.

Words of every conversation (function words, verbs and nouns for anything at all, times, numbers), words that are only
polite, and first names. A word in another form of the same stem counts as well.
"""

from carrel.search import words_of

_FUNCTION = """
a about above across after again against all almost alone along already also although always am among an and another
any anybody anyone anything anyway anywhere are aren around as at away be became because become been before behind
being below beside between beyond both but by can cannot could couldn despite did didn do does doesn doing don done
down during each either else enough even ever every everybody everyone everything everywhere except few for from
further had hadn has hasn have haven having he hence her here hers herself him himself his how however i if in indeed
inside instead into is isn it its itself just least less let like ll many may maybe me might mine more most mostly
much must my myself near nearly neither never nevertheless no nobody none nor not nothing now nowhere of off often on
once one only onto or other others otherwise our ours ourselves out outside over own per perhaps please quite rather
re really same several shall she should shouldn since so some somebody somehow someone something sometimes somewhere
soon still such than that the their theirs them themselves then there therefore these they this those though through
throughout thus to together too toward towards under unless until up upon us usually ve very via was wasn we well were
weren what whatever when whenever where wherever whether which while who whoever whole whom whose why will with within
without won would wouldn yet you your yours yourself ab aber alle allem allen aller alles als also am an andere
anderen anderer auch auf aus bald bei beide beiden beim bin bis bist bisschen da dabei dadurch dafür dagegen daher
damit danach daneben dann daran darauf daraus darf darum das dass davon davor dazu dein deine deinem deinen deiner dem
den denen denn der deren des deshalb dich die dies diese diesem diesen dieser dieses diesmal dir doch dort du durch
eben ein eine einem einen einer eines einfach einige einmal eigentlich eigentliche eigentlichen er erst erste ersten
es etwa etwas euch euer eure falls fast für ganz ganze gar gegen genug gerade gern gerne gibt hat hatte hatten hattest
hab habe haben habt her hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im immer in indem ins irgendwie
ist ja jede jedem jeden jeder jedes jedoch jemand jetzt kann kannst kaum kein keine keinem keinen keiner können könnte
könnten konnte leider man manche manchmal mehr mein meine meinem meinen meiner meist mich mir mit muss müssen musste
musst nach nachdem neben nein nicht nichts nie niemand noch nur ob oben oder oft ohne schon sehr sei seid sein seine
seinem seinen seiner seit selbst sich sie sind so sobald sogar solche soll sollen sollte sollten sondern sonst sowie
trotz trotzdem über überhaupt um und uns unser unsere unserem unseren unserer unten unter vielleicht viel viele vom
von vor vorher während wann war waren warum was weder weg wegen weil weiter welche welcher welches wem wen wenig wenn
wer werde werden wie wieder wieso will willst wir wird wirklich wo wobei wollen wollte wollten worden wurde wurden
würde würden zu zum zur zurück zwar zwischen
"""
_GENERAL = """
able accept actual new newer newest twice add agree allow answer appear arrive ask attempt avoid bad begin began begun
believe belong big bit break bring brought call came care careful carry case catch caught cause chance change check
choose chose chosen clear close come complete consider contain continue cost could count couple cover create cut deal
decide depend describe detail different difficult discuss drop early easy effect end enjoy enter entire exact example
expect explain fact fail fall far fast feel felt fell figure fill final find fine finish fit fix follow force forget
forgot form found free front full fun gave general get give given glad go goal gone good got great grow grew guess
half hand handle happen happy hard hate head hear heard held help high hold hope hour huge hurt idea imagine important
include increase inside interest issue item join keep kept kind knew know known large last late later latest lead
learn leave left less level life line list listen little live long look lose lost lot love low main make made manage
matter mean meant meet mention mind minute miss moment month morning move name need next notice number offer old open
option outcome pair part particular pass past people person pick piece place plan plenty point possible prefer prepare
pretty prevent previous probable problem process produce proper provide public pull push put question quick quiet
reach read ready real realize reason receive recent recommend reduce relate remain remember remove replace reply
require rest result return right round run ran safe said save saw say second see seem seen send sense sent separate
serious set share short show shown shut side similar simple single sit situation size slow small solution solve soon
sort sound special specific spend spent stand start state stay step stick stop strange strong stuff success suggest
suppose sure surprise switch take taken talk task team tell thing think third thought time tiny today told tomorrow
tonight took top total touch tough treat trouble true try turn type understand unit update use useful usual value
various view wait walk want watch way week weekend weird while wish wonder word work worked world worry worse worst
worth write written wrote wrong year yesterday young note notes proper longest takes happened told expected afternoon
evening day night monday tuesday wednesday thursday friday saturday sunday january february march april june july
august september october november december one two three four five six seven eight nine ten hundred thousand first
half percent am pm abend ablauf alt alte alten andern anfang anfangen angehen ansehen arbeit arbeiten art aufgabe
bedeutet beginnen beispiel bekommen besser beste besten bleiben bleibt brauche brauchen braucht bringen denken denke
dinge ende endlich fall fehlen fehlt fertig finde finden frage fragen früher ganzen geben gebraucht gedacht gefunden
gehen geht gehört geklappt gekommen gemacht genommen gesagt geschehen gesehen gestern getan glaube glauben gleich groß
große großen grund gut gute guten halten hause helfen heute hilfe hören idee jahr jahre klappt klein kleine kleinen
kommen kommt kosten kostet kümmern kümmert kurz lang lange lassen laufen läuft leicht lesen letzte letzten letztes
liegen machen macht mal meinen melden minute minuten mitte möchte möglich monat morgen nächste nächsten nehmen nennen
neu neue neuen notizen oben ort passen passiert passt person platz problem punkt reden richtig sache sachen sagen
schicken schlecht schnell schreiben sehen seite sinn sorgen spät später stehen stelle stellen stimmt stunde stunden
suchen tag tage teil tun überlegen uhr verstehen versuchen wahrscheinlich warten weise weniger wichtig wissen woche
wochen wort zahl zeigen zeit ziemlich zufrieden zuerst zusammen beschlossen zwei drei vier fünf sechs sieben acht neun
zehn montag dienstag mittwoch donnerstag freitag samstag sonntag second seconds zweite zweiten zweiter dritte dritten
euro euros eur dollar dollars usd kilometer kilometers km
meter meters metre metres prozent dauern dauert sagt sagte meint meinte holen hole holt geholt kaufen gekauft fährt
fahren gefahren steht stand stehen wohl sowieso bestimmt vermutlich buy bought brought pay paid somehow almost
"""
_SOCIAL = """
afaik asap brb btw fyi idk imo lmao np nvm pls plz rofl tbh ty welp
absolutely ah aha alright amazing appreciate awesome aw aww bet bless bravo bro buddy bye certainly cheer cheers
congrats congratulation congratulations cool cute dear definitely dude enjoy excellent excited exciting exactly
fabulous fantastic folks friend friends gee glad goodbye gorgeous great greetings guy guys haha hahaha hah hallo hello
hey hi hmm hooray hug hugs impressive incredible indeed inspiring interesting kudos lol lovely luck lucky ma mate
morning nah nice nope ok okay oh omg ooh oops ouch perfect phew pleasure pretty proud regards sir sorry super superb
sure sweet terrific thank thanks thankyou thx totally truly tysm ugh uh um welcome whoa wonderful woo wow wonderful
yay yeah yea yep yes yikes yo yup yummy ach aha alles danke dankeschön echt entschuldigung freue freut freuen genau
geil gell gerne glückwunsch grüß grüße gruß guten hallo hallöchen herzlich hi hoi hurra jawohl jep jo juhu klar klasse
klingt krass liebe lieben lieber mega mensch moin na nö oh okay prima schade schön schöne schönen servus sorry
spannend spitze stark super tja toll tolle tschau tschüss tut uff vielen wow wunderbar wiedersehen willkommen
"""
# Without words that have a meaning in English or German: son, van, pour.
_OF_OTHER_LANGUAGES = """
el la los las un una unos unas al del de en con por para entre hasta desde hacia según pero porque pues aunque cuando
donde como que qué quién quien cuál cual cuánto cuándo dónde cómo si sí ya también tampoco muy más menos mucho mucha
muchos muchas poco poca otro otra otros otras toda todos todas algo alguien algún alguna nada nadie ningún este esta
estos estas ese esa esos esas eso esto aquel aquella aquí ahí allí yo tú él ella nosotros vosotros ellos ellas usted
ustedes mi mis tu tus su sus nuestro nuestra vuestro me te se nos os lo le les es era eran fue ser está están estaba
estoy estás estar había haber he ha hemos han hace hacer hago haces tengo tiene tienes tenemos tener voy va vas vamos
ir puedo puede puedes podemos poder quiero quiere quieres creo sé hoy ayer ahora luego después antes siempre nunca le
les un une des du au aux dans sur sous avec chez mais où donc ni et ou que qui quoi dont quand pourquoi combien je tu
il elle nous vous ils elles mon ma mes ta tes sa ses notre votre nos vos leur leurs ce cet cette ces cela ça ceci ici
là oui très trop peu beaucoup aussi encore déjà jamais toujours rien être suis sommes êtes sont était avoir avons avez
ont avait fait faire faut peux peut pouvez veux veut va vais vont aller hier maintenant demain après avant
"""
_SOCIAL_OF_OTHER_LANGUAGES = """
hola buenas buenos días tardes noches gracias adiós vale perfecto genial claro venga jaja jajaja jajajaja felicidades
enhorabuena saludos abrazo abrazos besos luego guapa guapo amigo amiga bonjour bonsoir salut merci coucou bienvenue
félicitations bisous bisou super génial parfait d'accord voilà haha mdr ouais ouf
"""

_FIRST_NAMES = """
aaron adam adrian ahmed alan albert alex alexander alexandra alice alicia amanda amber amy ana andre andrea andreas
andrew andy angela anita anja ann anna anne annette anthony antonio arthur ashley astrid audrey axel barbara beate ben
benjamin bernd beth bettina bill birgit bob brad brandon brenda brian bruce calvin carl carla carlos carmen carol
caroline catherine charles charlotte chloe chris christian christina christine christoph christopher claire clara
claudia craig cynthia daniel daniela dave david deborah denise dennis derek diana diane dieter dirk dominik donald
donna doris dorothy doug douglas dylan edward elena eli elias elisabeth elizabeth ella ellen emil emily emma eric erik
erika ethan eva evan evelyn felix finn florian frank franz frederick gabriel gary george georg gerald gerhard gina
gloria grace greg gregory hannah hans harald harry heather heidi heike heinz helen helena helga henry holger horst
howard ian ingrid isaac isabel isabella ivan jack jackie jacob jake jakob james jamie jan jana jane janet jasmin jason
jean jeff jeffrey jen jennifer jenny jens jeremy jerry jesse jessica jill jim jimmy joan joanna jochen joe joel johann
johannes john johnny jon jonas jonathan jordan jorge jose joseph josh joshua joyce juan judith judy jürgen julia
julian julie jutta kai karen karin karl karsten kate katharina katherine kathleen kathrin kathy katja katrin keith
kelly ken kenneth kerstin kevin kim klaus kristen kristin kurt kyle lars laura lauren leah lena leo leon leonie linda
lisa logan lore lorenz louis louise luca lucas lucy luis luise lukas luke lynn mandy manfred manuel manuela marc
marcel marco marcus margaret maria marianne marie mario marion mark markus marlene martha martin martina mary mateo
mathias matt matteo matthew matthias max maximilian maya megan melanie melissa mia michael michaela michelle miguel
mike mila miriam mohammed molly monica monika moritz nadine nancy natalie natasha nate nathan nathaniel neil nick
nicholas nicolas nicole niklas nils nina noah nora norbert oleg olga oliver olivia oscar otto pablo pam pamela
patricia patrick paul paula pedro peggy peter petra phil philip philipp philippe pia priya rachel rafael rainer ralf
ralph ramona raphael ray raymond rebecca regina renate richard rick rita rob robert roberto robin rodrigo roger roland
ron ronald ruth ryan sabine sabrina sally sam samantha samuel sandra sara sarah scott sean sebastian sharon shirley
silke silvia simon simone sofia sonja sophia sophie stefan stefanie stephan stephanie stephen steve steven susan
susanne sven svenja sylvia tamara tanja tara ted teresa theo theodor theresa thomas thorsten tim timothy tina tobias
todd tom tommy tony torsten tracy travis tyler udo ulrich ursula ute uwe valentin vanessa vera verena veronika victor
victoria vincent virginia volker walter wendy werner william willi wolfgang yannick yvonne zach zoe
"""


def _known(*lists: str) -> frozenset[str]:
    return frozenset(form for words in lists for word in words.split() for form in (word, *words_of(word)))


# Filler and first names; "grace", "mark" and the like lose nothing that another word would not say.
FILLER_WORDS = _known(_FUNCTION, _GENERAL, _SOCIAL, _OF_OTHER_LANGUAGES, _SOCIAL_OF_OTHER_LANGUAGES)
SOCIAL_WORDS = _known(_SOCIAL, _SOCIAL_OF_OTHER_LANGUAGES)
FIRST_NAMES = _known(_FIRST_NAMES)
