"""Synonyms: k8s and Kubernetes, PR and pull request, Bob and Robert.

One line is one thing. A name that means something else too carries a question mark: it counts half.
A name of several words stands for the thing where its words stand close together.
"""

from collections.abc import Sequence
from functools import lru_cache

from memory_mesh.text import analyzer
from memory_mesh.text.analyzer import Other

_DOUBTFUL = 0.5
_SPREAD = 2  # other words that a question may have between the words of a name

_TECHNOLOGY = """
kubernetes, k8s, kube
postgres, postgresql, pg, psql
javascript, js
typescript, ts?
python, py
golang, go lang
rust lang, rustlang
ruby, rb?
c#, csharp
c++, cpp
node, nodejs
react native, rn?
mongo, mongodb
elasticsearch, elastic search, es?
sql server, mssql
sqlite, sqlite3
terraform, tf?
tensorflow, tf?
pytorch, torch
visual studio code, vscode, vs code
github actions, gha
github, gh?
gitlab, gl?
amazon web services, aws
google cloud, google cloud platform, gcp
microsoft azure, azure
cloudformation, cfn
docker compose, compose?
operating system, os?
windows subsystem linux, wsl
macos, osx, mac os
internet explorer, ie?
"""
_ENGINEERING = """
internationalization, internationalisation, i18n
localization, localisation, l10n
accessibility, a11y
observability, o11y
authentication, auth, authn
authorization, authorisation, authz, auth?
two factor, 2fa, mfa, multi factor, second factor
single sign on, sso
json web token, jwt
tls, ssl
transport layer security, tls
role based access control, rbac
access control list, acl
identity access management, iam
personally identifiable information, pii
personal data, pii?
cross site scripting, xss
cross site request forgery, csrf, xsrf
sql injection, sqli
denial of service, dos?, ddos
virtual private network, vpn
virtual machine, vm
virtual private server, vps
content delivery network, cdn
domain name system, dns
load balancer, lb?
dead letter queue, dlq
message queue, mq
publish subscribe, pubsub
out of memory?, oom
time to live, ttl
service level agreement, sla
service level objective, slo
requests per second, rps, qps
queries per second, qps, rps
frames per second, fps
key performance indicator, kpi
root cause analysis, rca
postmortem, post mortem
pull request, pr, merge request, mr?
continuous integration, ci
continuous delivery, continuous deployment, cd?
version control, vcs
repository, repo
database, db
environment, env
environment variable, env var, envvar
production, prod
development, dev?
configuration, config, cfg, conf?
documentation, docs
specification, spec
infrastructure, infra
infrastructure as code, iac
performance, perf
dependency, deps
administrator, admin
application, app
certificate, cert
credentials, creds
directory, dir
temporary, tmp, temp?
parameter, param
argument, arg?
function, func, fn?
variable, var
library, lib
package, pkg
command line, cli
command line interface, cli
user interface, ui
graphical user interface, gui
user experience, ux
application programming interface, api
software development kit, sdk
object relational mapper, orm
regular expression, regex, regexp
asynchronous, async
synchronous, sync?
garbage collection, gc?
graphics card, gpu
graphics processing unit, gpu
central processing unit, cpu
random access memory, ram
solid state drive, ssd
machine learning, ml
artificial intelligence, ai
natural language processing, nlp
large language model, llm
retrieval augmented generation, rag
optical character recognition, ocr
quality assurance, qa
end-to-end, e2e
test driven development, tdd
proof of concept, poc
minimum viable product, mvp
work in progress, wip
service reliability engineer, sre
site reliability engineering, sre
return on investment, roi
open source, oss
extract transform load, etl
business intelligence, bi?
timezone, tz
timestamp, ts?
milliseconds, ms?
megabyte, mb
gigabyte, gb
"""
_DAILY = """
new york city, new york, nyc
san francisco, sf
united kingdom, uk
united states, usa
european union, eu
headquarters, hq
human resources, hr
paid time off, pto
working from home, wfh
end of day, eod
end of week, eow
estimated time arrival, eta
frequently asked questions, faq
as soon as possible, asap
chief executive officer, ceo
chief technology officer, cto
chief financial officer, cfo
value added tax, vat
appointment, appt
birthday, bday
mobile phone, cell phone, cellphone
telephone, phone
television, tv
refrigerator, fridge
gymnasium, gym
university, uni
laboratory, lab
mathematics, maths
photograph, photo
veterinarian, vet
grandmother, grandma
grandfather, grandpa
mother, mom, mum
father, dad
vacation, holiday
"""
_NAMES = """
robert, bob, bobby, rob
william, bill, billy
elizabeth, liz, beth, lizzie, eliza
katherine, catherine, kate, kathy, katie
michael, mike
margaret, peggy, maggie, meg
alexander, alex
alexandra, alex, sasha?
christopher, chris
christine, chris, christina
richard, rick
james, jim, jimmy
john, jack?, johnny
joseph, joe
thomas, tom, tommy
anthony, tony
andrew, andy, drew?
daniel, dan, danny
david, dave
edward, ed, eddie, ted
benjamin, ben
samuel, sam
samantha, sam
matthew, matt
nicholas, nick
jonathan, jon
joshua, josh
jennifer, jen, jenny
jessica, jess
rebecca, becky
susan, sue, susie
patricia, pat?, patty, trish
patrick, pat?
deborah, deb, debbie
steven, stephen, steve
gregory, greg
timothy, tim
jeffrey, jeff
lawrence, larry
charles, charlie, chuck
victoria, vicky
theodore, ted?, theo
zachary, zach
francisco, paco
jose, pepe
johannes, hannes
"""
_ALL = _TECHNOLOGY + _ENGINEERING + _DAILY + _NAMES
_STEM = 3  # letters; no shorter word is stemmed


def expand(terms: Sequence[str]) -> dict[str, tuple[Other, ...]]:
    """Returns the synonyms of each term that is, or is part of, a known name."""
    place = {term: at for at, term in enumerate(terms)}
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for term in terms:
        for name, others in _begun_by(term):
            if not _close(name, place):
                continue
            for word in name:
                weights = found.setdefault(word, {})
                for other in others:
                    weights[other.words] = max(other.weight, weights.get(other.words, 0.0))
    return {
        term: tuple(Other(words, weight) for words, weight in weights.items() if term not in words)
        for term, weights in found.items()
    }


def _close(name: Sequence[str], place: dict[str, int]) -> bool:
    """True if the question contains all words of a name close together."""
    at = [place[word] for word in name if word in place]
    return len(at) == len(name) and max(at) - min(at) < len(name) + _SPREAD


@lru_cache(maxsize=4096)
def _begun_by(term: str) -> tuple[tuple[tuple[str, ...], tuple[Other, ...]], ...]:
    """Returns the names whose first term it is, with their synonyms.

    Only the lines that may hold one are read: reading them all takes as long as a search.
    """
    begun = f" {term[:-1] if len(term) > _STEM else term}"
    return tuple(
        (
            name.words,
            (
                tuple(
                    Other(other.words, min(name.weight, other.weight))
                    for other in group
                    if other.words != name.words
                )
            ),
        )
        for line in _lines()
        if begun in line
        for group in (_group(line),)
        for name in group
        if name.words[0] == term
    )


@lru_cache(maxsize=1)
def _lines() -> tuple[str, ...]:
    """Returns the groups as they are written, each name after a blank."""
    return tuple(f" {line}" for line in _ALL.split("\n") if line)


@lru_cache(maxsize=1024)
def _group(line: str) -> tuple[Other, ...]:
    return tuple(_name(written) for written in line.strip().split(", "))


def _name(written: str) -> Other:
    words = tuple(analyzer.query_terms(written.rstrip("?")))
    return Other(words, _DOUBTFUL if written.endswith("?") else 1.0)
