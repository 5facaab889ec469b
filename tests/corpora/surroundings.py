"""The places a value is found in: § is the value."""

from random import Random

from tests.corpora.value import Value

ANYWHERE = (
    "§ is what the user gave us for the staging run",
    "§, as agreed in the last session, stays until Friday",
    "The user asked me to remember §",
    "Deploy notes from Tuesday: we settled on §.",
    "Use § for the smoke test, then remove it; the run took 42 s.",
    'The config says "§" and nothing else.',
    "She wrote '§' into the ticket",
    "Run it with `§` and watch the log",
    "The old one (§) no longer works",
    "Found in the dump: [§]",
    "Reply came from <§> at noon",
    '{"note": "§", "count": 3}',
    '{"user":{"contact":"§"},"ok":true}',
    "- item one\n- §\n- item three",
    "| field | value |\n|---|---|\n| given | § |",
    "**§** is the one that failed",
    "> §\n\nThat is a quote from the chat.",
    "value = '§'  # from the old script",
    'client = connect("§", retries=3)',
    "Remember:§",
    "one;§;three",
    "a,b,§",
    "first line\n§\nlast line",
    "\t§\t# tabbed",
    "We tried §!",
    "Is it §?",
    "Note — § — was pasted twice",
    "用户说的是§，请记住",
    "请把§发给我",
    "旧的§已经失效了",
    "設定は「§」です。",
    "昨日§を使いました",
    "값은 §입니다",
    "Это § из чата",
    "القيمة هي § الآن",
    "✅ § 🚀",
    "x" * 300 + " § " + "y" * 50,
)
IN_URL = (
    "GET https://api.acme.dev/v1/lookup?q=§&limit=10 returned 404",
    "open https://crm.acme.dev/contacts/§ in the browser",
    "[the record](https://crm.acme.dev/r?id=§)",
)
FOR_BLOCKS = (
    "§",
    "The deploy key is\n§\nkeep it out of git",
    "```\n§\n```\nwas pasted by the user",
    'key = """§"""',
    "密钥如下§请保存",
    '{"type": "service_account", "private_key": "§", "client_id": "1"}',
)
AROUND_SENTENCES = (
    "§",
    "Note to self: §",
    "§ Please keep that in mind for the next run.",
    "- §",
    "> §",
    "(§)",
    "The user said: “§”",
    '{"content": "§"}',
    "## Facts\n\n- the build is green\n- §\n- port 8080 is free",
    "記録: §",
)


def embed(rng: Random, value: Value) -> str:
    """The value in one of the places it fits."""
    if value.leads:
        return _put(rng.choice(AROUND_SENTENCES), _put(rng.choice(value.leads), value.raw))
    if value.block:
        return _put(rng.choice(FOR_BLOCKS), value.raw)
    fits_url = value.in_url and all(letter.isalnum() or letter in "-._@~" for letter in value.raw)
    return _put(rng.choice(ANYWHERE + IN_URL if fits_url else ANYWHERE), value.raw)


def _put(place: str, value: str) -> str:
    return place.replace("§", value)
