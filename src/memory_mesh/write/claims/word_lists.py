"""The words the reader knows: what has one value, what has many, what says nothing yet.

A noun that is in neither table is judged by the form it stands in; when the form does not tell
either, the claim is not certain.
"""


def word_set(words: str) -> frozenset[str]:
    """Returns the words of a text as a set."""
    return frozenset(words.split())


_SINGLE = """
    address age author backend base birthdate birthday birthplace branch broadcaster broker bucket
    budget bundler cache cadence cap capital ceo cfo chair chairman chairperson chancellor channel
    charset ci city cluster coach codename color colour command commander compiler config container
    continent convention coo country creator cto currency database date day deadline default
    destination diet director directory distro doctor domain dpi driver editor editor-in-chief
    employer encoding endpoint engine engineer entrypoint environment fee file firmware firstname
    folder font format formatter founder framework frequency frontend gender governor grade group
    headquarters height host hostname husband id image indentation instructor interpreter interval
    job kernel king landlord language lastname layout lead leader length level licence license limit
    linter locale location login maintainer major manager max maximum mayor min minimum minister
    mode model moderator motto name nationality nickname number occupation organizer orm os owner
    pace package parser password path pattern period phase pin plan platform policy pope port prefix
    president price principal priority product profession profile project provider publisher queen
    queue quota rank rate ratio region registry release religion remote rent replicas repo
    repository resolution retention role room root runner runtime salary schedule scheduler schema
    scope seat secretary seed server shell size sla slot speed spokesperson spouse stack stage
    standard state status storage strategy style subdomain suffix supervisor surname target template
    tenant term theme threshold timeout timezone title topic treasurer type ui unit uri url username
    vendor version wallpaper weight width wife window workspace year zip zone
"""
_MANY = """
    account acquaintance activity advantage aim alternative app attendee aunt band bike book brother
    bug car cat child children class client club co-author co-founder coauthor cofounder
    collaborator colleague column component concern contributor cousin customer daughter dependency
    device dog drawback email example feature film flatmate friend goal grandchild grandfather
    grandmother grandparent guest hero hobby idea ingredient instrument interest issue item keyword
    kid laptop lesson link medication member mentor mobile movie neighbor neighbour nephew niece
    note option participant pet phone plugin problem pupil question reason reference relative
    requirement reviewer risk roommate sibling sister skill son song source sponsor stepbrother
    stepsister strength student subscription supplier symptom tablet tag task teammate test tip todo
    tool toy trait trip twin uncle vehicle weakness
"""
_FLEETING = """
    accuracy answer blocker catch cause challenge conclusion consequence cost count culprit
    difference effect error estimate fix forecast guess hint key latency lesson loss measurement
    mistake moment mood news next outcome output point progress reading recall result score shift
    solution speaker step story sum symptom temperature thing thought throughput total trick truth
    usage value weather winner work workaround
"""
_NOTES = """
    action agenda ai answer assistant attendee author blocker bug code comment context contributor
    debug decision detail done error event example exit fatal feature finding fix follow-up goal
    hint human idea info ingredient input insight issue item iteration keyword lesson link log
    member message next note observation output participant pass plan progress question quote reason
    ref reference reminder result retro reviewer risk rule see session source speaker step summary
    system tag task test tip todo topic trace trial update url user warn warning
"""
ONE = word_set(_SINGLE)  # a thing has one of these at a time
MANY = word_set(_MANY)  # of these a thing may have many
FLEETING = word_set(_FLEETING)  # true of a moment: two values need not disagree
NOTES = word_set(_NOTES)  # `Note: …` heads a remark, no value of something
# Of a record that the line alone does not name.
FIELDS = word_set(
    """
    name title date time price id type role location default unit size status description amount
    year day length format password language file folder directory path branch version package
    endpoint command user author image container topic room seat slot driver plan number host
    group unit product state phase stage term creator founder owner maintainer publisher instructor
    coach director leader lead manager moderator organizer template pattern profile age occupation
    scope gender nationality profession grade rank
    """
)
# As a line of its own (`Deadline: Friday`) of some task, change or run that it does not name.
RECORDED = word_set(
    "assignee build commit deadline due hash job pr priority run severity sha ticket"
)
# One follows another: "the function", "line number", "the author of the PR" do not tell which.
PASSING = word_set(
    """
    appointment article build bug call case class column commit container customer document error
    event exit feature file flight function image input interview invoice issue job key line link
    meeting message method order output page paper parcel parameter patient picture pr product
    report request response row run script session status table task test ticket token variable
    """
)
LABELS = word_set("code date file id message name number path priority size status title type")
# Of these a project, a household, a conversation has one: "the app" is enough to know which.
SETTING = word_set(
    """
    user api app service site website docs logs codebase company team office project backend
    frontend server system database business household family
    """
)
ORDER = word_set("current next latest last first previous new old final other same")

# Behind `is` they tell how a thing is, not which one it is: "my wife is pregnant".
DESCRIBING = word_set(
    """
    able absent afraid alone amazing angry annoying asleep away awesome bad best better big bored
    brand broken busy calm cheap clean clear close cold cool correct crazy cute dead deep
    different difficult dirty done due dumb early easy empty enough excellent exact expensive fair
    fast final fine firm fixed flat free fresh full fun funny gone good great happy hard harsh heavy
    high home hot huge hungry ill important in it late lazy likely little local long lost loud
    low lovely mad messy missing more much nasty near neat new nice odd ok okay old open out
    over perfect plain poor pretty proud quick quiet quite rare ready real really rich right
    rough rude sad safe scary short shut sick silly simple slow small smart soft soon sorry strange
    strict strong stuck stupid sure sweet tall terrible thin tight tiny tired too tough true ugly
    unclear unknown unfair up upset urgent vague very warm weak weird wet wild worse worst wrong
    young still always never so rather pretty fairly extremely super way
    """
)
DESCRIBING_ENDS = ("ful", "less", "ous", "able", "ible", "ish", "ant", "ing", "ed", "ive")

STATES = {
    word: f"{first} or {second}"
    for first, second in (
        ("enabled", "disabled"),
        ("open", "closed"),
        ("on", "off"),
        ("public", "private"),
        ("active", "inactive"),
        ("up", "down"),
        ("available", "unavailable"),
        ("required", "optional"),
        ("mandatory", "voluntary"),
        ("allowed", "forbidden"),
        ("supported", "unsupported"),
        ("locked", "unlocked"),
        ("online", "offline"),
        ("alive", "dead"),
        ("true", "false"),
        ("single", "married"),
        ("complete", "incomplete"),
    )
    for word in (first, second)
}

# Passed once and never undone: one maker, one place, one day.
MADE = word_set(
    """
    born founded created written developed performed directed invented designed composed established
    built published produced discovered painted incorporated formed
    """
)
# What holds of a thing one at a time, behind `is`; the value is the predicate it is filed under.
HELD = {
    ("married", "to"): "married to",
    ("engaged", "to"): "engaged to",
    ("employed", "by"): "work for",
    ("employed", "at"): "work for",
    ("based", "in"): "live in",
    ("located", "in"): "in",
    ("located", "at"): "at",
    ("located", "on"): "on",
    ("situated", "in"): "in",
    ("headquartered", "in"): "headquarters in",
    ("stored", "in"): "stored in",
    ("kept", "in"): "kept in",
    ("hosted", "on"): "hosted on",
    ("hosted", "at"): "hosted on",
    ("hosted", "by"): "hosted by",
    ("deployed", "on"): "deployed on",
    ("deployed", "to"): "deployed on",
    ("written", "in"): "written in",
    ("owned", "by"): "owned by",
    ("led", "by"): "led by",
    ("managed", "by"): "managed by",
    ("maintained", "by"): "maintained by",
    ("pinned", "to"): "pinned to",
    ("set", "to"): "is",
    ("capped", "at"): "capped at",
    ("limited", "to"): "limited to",
    ("licensed", "under"): "licence",
    ("due", "on"): "due on",
    ("scheduled", "for"): "scheduled for",
    ("kept", "for"): "kept for",
}
# Of these a thing may have many, behind `is`.
SHARED = word_set(
    """
    famous known good bad interested allergic fluent certified available trained walked used read
    reviewed experienced skilled keen fond afraid aware responsible compatible tagged covered
    imported exported called learning working studying
    """
)

# Behind a subject: base form -> True has one value (with the named prepositions), False has many.
SINGLE_VERBS: dict[str, tuple[str, ...]] = {
    "live": ("in", "at"),
    "reside": ("in",),
    "work": ("for", "at"),
    "report": ("to",),
    "belong": ("to",),
    "cost": ("",),
    "weigh": ("",),
    "listen": ("on",),
    "default": ("to",),
    "resolve": ("to",),
    "point": ("to",),
    "expire": ("on", "in"),
    "open": ("at",),
    "close": ("at",),
}
MANY_VERBS = word_set(
    """
    like love enjoy prefer dislike hate speak play know own have has collect include contain support
    depend export import follow visit learn need want eat drink watch read hold require provide
    offer cover carry feed study recommend avoid accept see mention sell buy
    """
)
OTHER_VERBS = word_set(
    """
    happen run go take keep store deploy ship send arrive stay sit stand meet fly travel use occur
    serve target build return last get sleep commute release log write pay receive host drive start
    begin end leave
    """
)
VERBS: dict[str, str] = {
    form: base
    for base in (*SINGLE_VERBS, *MANY_VERBS, *OTHER_VERBS)
    for form in (base, {"go": "goes", "have": "has", "watch": "watches"}.get(base, base + "s"))
} | {"studies": "study", "carries": "carry", "flies": "fly", "has": "have"}
BASES = frozenset((*SINGLE_VERBS, *MANY_VERBS, *OTHER_VERBS)) - {"has"}
CHANGES = frozenset(("moved", "switched", "migrated", "changed", "transitioned", "went"))

COPULAS = frozenset(("is", "are", "am", "was", "were"))
PAST = frozenset(("was", "were"))
NEGATIONS = frozenset(("not", "never", "isn't", "aren't", "doesn't", "don't", "cannot", "wasn't"))
AUXILIARIES = frozenset(("do", "does", "don't", "doesn't"))
NOW = frozenset(("now", "currently", "nowadays"))
ALSO = frozenset(("also", "additionally", "sometimes", "often", "usually", "mostly", "partly"))
ADVERBS = NOW | ALSO | {"always", "still", "actually", "officially", "really", "only", "both"}
PREPOSITIONS = word_set(
    """
    in at on to for by with from under after before every until of as about via into per
    """
)
# Behind a value: where, when or for whom it holds.
QUALIFIERS = frozenset(("in", "on", "for", "at", "during", "within", "inside"))
LOCAL = frozenset(("locally", "remotely"))
STATED_HOW = frozenset(("stored in", "kept in"))  # a place, or a manner
CLASSES = word_set(
    """
    city country continent sport religion language position field state town village region province
    planet genre year
    """
)
PLACED = frozenset(("live in", "born in", "founded in", "created in", "formed in", "die in", "in"))

# A value with one of these goes on to tell.
STORIES = word_set(
    """
    that who which i we you he she they it I'm I've it's you're we're they're i've going trying
    where so me us him them myself
    """
)
# A sentence with one of these is no plain statement of what is.
UNSTATED = word_set(
    """
    would could might may should will shall said says say told tells claims claimed thinks believes
    suggests suggested asked asks wonders if whether unless because although though when while but
    however maybe perhaps probably possibly except used wants
    """
)
OPENINGS = word_set(
    """
    if when while once suppose assuming imagine maybe perhaps let lets let's remind first, then next
    finally yesterday today tomorrow tonight after before during since in on at with for from by as
    because who what where which why how is are was were do does did can could will would there here
    it he she they this that these those his her hers their its someone somebody everyone everybody
    nobody please so and but or earlier later last i'd you your it's that's there's he's she's
    they're what's who's where's here's
    """
)
INDEFINITE = frozenset(("a", "an", "another", "some", "each", "every", "any", "many", "several"))
SHORTENED = word_set(
    """
    dr. mr. mrs. ms. st. jr. sr. prof. inc. co. corp. ltd. bros. no. vs. mt. ft. gen. col. lt. sgt.
    capt. gov. sen. rep. rev. hon. dept. univ. est. approx. fig. vol. ed. op. bd.
    """
)
COUNTRIES = word_set(
    """
    afghanistan albania algeria andorra angola argentina armenia australia austria azerbaijan
    bahamas bahrain bangladesh barbados belarus belgium belize benin bhutan bolivia botswana brazil
    brunei bulgaria burundi cambodia cameroon canada chad chile china colombia croatia cuba cyprus
    czechia denmark ecuador egypt england eritrea estonia ethiopia fiji finland france gabon gambia
    georgia germany ghana greece guatemala guinea guyana haiti honduras hungary iceland india
    indonesia iran iraq ireland israel italy jamaica japan jordan kazakhstan kenya kosovo kuwait
    kyrgyzstan laos latvia lebanon lesotho liberia libya liechtenstein lithuania madagascar malawi
    malaysia maldives mali malta mauritius mexico moldova monaco mongolia montenegro morocco
    mozambique myanmar namibia nepal netherlands nicaragua niger nigeria norway oman pakistan panama
    paraguay peru philippines poland portugal qatar romania russia rwanda scotland senegal serbia
    singapore slovakia slovenia somalia spain sudan suriname sweden switzerland syria taiwan
    tajikistan tanzania thailand togo tunisia turkey turkmenistan uganda ukraine uruguay uzbekistan
    venezuela vietnam wales yemen zambia zimbabwe usa uk us europe asia africa antarctica oceania
    """
) | {
    "united states",
    "united states of america",
    "united kingdom",
    "new zealand",
    "south africa",
    "south korea",
    "north korea",
    "saudi arabia",
    "sri lanka",
    "costa rica",
    "czech republic",
    "great britain",
    "north america",
    "south america",
}
TIMES = word_set(
    """
    january february march april may june july august september october november december jan feb
    mar apr jun jul aug sep oct nov dec monday tuesday wednesday thursday friday saturday sunday
    spring summer autumn winter
    """
)
