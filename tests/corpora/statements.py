"""Sentences as developers type them: what they state for good, and what passes."""

OF_THE_PERSON = """
I always squash before I merge
fyi i never use semicolons in js, any project
I hate default exports
I prefer British spelling in comments, in all my repos
I'm colorblind so dont use red/green only in charts
for all my projects: conventional commits please
please never use emojis when you answer me
i like my functions short
my shell is fish on every machine
ich bevorzuge kurze antworten, in allen meinen projekten
antworte mir bitte immer auf deutsch
je préfère les réponses en français, pour tous mes projets
i use vim everywhere, so no ide specific steps
across all my repos I want MIT licenses
i usually work in utc, keep that in mind for every project
I always want tests before code
i prefer composition over inheritance in all my code
personally i never use else after return
generally I don't like abbreviations in names
i want commit messages in english, for every repo
please dont use emojis in answers, i dont like them
in every project of mine: 2 spaces
I'm on windows, so give me powershell commands
i work with neovim
I usually review diffs before commits, so never commit on your own
explain things to me like to a senior dev, always
ich nutze immer tabs
ich mag keine langen erklärungen
prefiero tabs en vez de espacios
siempre uso pnpm en todos mis proyectos
j'utilise toujours des guillemets simples
je n'aime pas les commentaires inutiles
my preferred language for scripts is python, everywhere
when you talk to me use metric units, always
whatever repo im in: never push without asking me
i always work on feature branches, in every project
I don't use docker, on none of my machines
generally, for all projects: no trailing whitespace
I like short variable names
I really dislike long functions
btw i never want you to push without asking, in any repo
i am a backend dev so explain css stuff to me in detail, always
my timezone is Europe/Lisbon
for me please always use the metric system
in all of my repos the default branch is trunk
whenever you write commit messages for me use the imperative
I use a dvorak keyboard, so no vim default keybindings in any project
ich will in allen projekten conventional commits
ich schreibe commits immer auf englisch
bitte antworte mir immer kurz
en todos mis repos uso licencia MIT
me gustan los commits pequeños
pour tous mes projets je veux des tests en pytest
je préfère les tabulations
"""

OF_THE_PROJECT = """
remember that the staging db is reset every night
please remember: migrations need a review from data
keep in mind that the api is frozen until june
Remember to run make gen after touching protos
we use pnpm here, not npm
use pnpm in this repo, not npm
in this repo we dont write snapshot tests
we decided to keep the monolith for another year
we settled on zod for validation
ok decision: postgres, not mysql. reason is jsonb
let's go with option types from neverthrow everywhere
the auth service owns the users table, nobody else writes to it
prod runs on arm64, staging on amd64
our main branch is called trunk
the payments module is frozen, don't touch it without asking lena
never commit to release branches directly
always run the linter before you commit
every endpoint must have an openapi description
tests must not hit the network
timestamps are stored as utc epoch millis
api keys live in vault, not in env files
actually no, we switched to vite in march
that's wrong. the cron job runs on the worker, not on the web dyno
no, prices are in cents
correction: the retention is 90 days not 30
i was wrong, staging uses the new cluster
turns out the bug was caused by a stale dns cache in the sidecar
sorry, i mixed that up, the limit is 10 MB not 100
wait, it's postgres 15, not 14
no, we don't use redux anymore, everything is in zustand
from now on write tests with vitest
wir haben uns für kafka entschieden
alle migrationen müssen rückwärtskompatibel sein
nein, die api läuft auf port 9000
usamos siempre comillas dobles en este proyecto
en este repo nunca hacemos push a main
on utilise pnpm, jamais npm
le backend tourne sur python 3.12
merk dir: die testdatenbank heißt shop_test
the legacy client needs node 14, so no optional chaining in packages/legacy
deploys happen only on tuesdays and thursdays
feature flags are in config/flags.yml
the team agreed that we don't mock the database
we're stuck on java 8 until q3
money is always decimal, never float
error codes start with E and have four digits
public functions need a docstring in this codebase
the customer id is a string, not an int
branch names follow feat/<ticket>-<slug>
btw staging is behind the vpn, you can't reach it from here
quick note: we don't use barrel files
all our services log json to stdout
customer data must never leave the eu region
we're using pydantic v2 so validators look different
careful, the users table has 40M rows, no full scans
don't ever run migrations against prod from your shell
the min supported node version is 18
heads up: main is protected, you need a PR
we pin all actions to a sha
our designers use figma, tokens come from tokens.json
the mobile app still calls v1, so v1 has to stay
for the record, we chose MIT over apache because of gpl deps
team decision: no more orm, plain sql with sqlc
as agreed with security, secrets go in vault only
the queue is sqs not rabbit
no we dont use jest, its vitest in this repo
nope, dates are dd.mm.yyyy in the csv
you got that wrong, the cache ttl is 5 minutes
sorry wrong info from me: the region is eu-west-1
not rabbitmq. we use nats
actually it's the other way round: the worker calls the api
ah i was mistaken, retries are handled by the gateway
it wasn't the cache after all, it was the load balancer timeout
the real cause was a missing index on orders.created_at
we dropped python 3.8 support last month
our api is versioned by header, not by path
CI takes 40 minutes because the e2e suite runs twice
naming: test files end in _spec.rb here
please use british english in all user facing strings of this project
don't use any in typescript in this codebase
only maintainers may merge to main
each package has its own changelog
we support only the last two major versions
local dev needs docker compose up redis first
to run the tests you need to start localstack first
the seed script has to run before the tests
run make proto before building, otherwise the stubs are stale
the password policy is 12 chars minimum
releases are cut from the release branch every friday
our sla is 99.9, so no downtime migrations
we have two environments: staging and prod
the frontend is in apps/web, the api in apps/api
unser main branch heißt develop
die tests laufen nur mit java 17
wir deployen nie freitags
bitte in diesem repo keine default exports
el servidor de pruebas usa el puerto 8081
no, usamos poetry, no pip
hemos decidido usar graphql
les tests doivent tourner sans réseau
non, on utilise postgres 16
on a décidé de garder vue 2
ne touche jamais au dossier vendor/
we ship to on-prem customers so no cloud only services please
our linter config is shared from @acme/eslint-config, don't add local rules
db migrations are forward only here, we never write down migrations
for info: customer ids start with C and are 8 digits
the old admin panel is read only since may, new stuff goes into admin2/
after talking to the team: we will drop ie11 in the next release
we've decided against microservices for now
final decision: money as integer cents
we go for option types, not exceptions, in the domain layer
so the plan is to stay on vue 2 till summer
it has been decided that all new code is in kotlin
every pr needs two approvals
please never log request bodies, gdpr
do not use lodash in this project
no lodash in this project pls
no default exports here
tests go next to the source file, not in a tests folder
we name branches like JIRA-123-short-title
commit messages are in german in this repo
our staging url is https://staging.example.org
the ci image has no docker
the build server only has 2 GB ram so keep parallelism at 1
never run prettier on legacy/
legacy/ is off limits
legacy/ must not be touched
nope, it's not mongo, it's documentdb
no, not 3000. the frontend is on 5173
that's not right, the tests use sqlite in memory
you're wrong, there is no staging cluster anymore
you assumed utc but all our timestamps are in local time
not quite: invoices are immutable, credit notes are separate rows
actually we moved from jenkins to github actions last year
forget what i said about redis, we use memcached
wait, i was wrong about the timeout, it is 30 seconds not 60
hmm i misremembered, it's the orders service that owns the table
turned out the leak came from the http client, not from our cache
it was a firewall rule, not our code
so the culprit was the antivirus, it locks the node_modules folder
root cause: the cert on the proxy expired
solved, the problem was that the env file had windows line endings
nein, das stimmt nicht, wir sind auf node 20
wir haben beschlossen, dass alle texte in i18n/ liegen
bitte merken: releases nur dienstags
in diesem repo heißen die branches immer nach dem ticket
hier verwenden wir nur lokale zeit
denk dran dass die api read only ist
acordamos usar ramas cortas
recuerda que el staging se borra cada noche
no, el puerto es 5433
los commits van en inglés en este repo
ici on écrit les messages de commit en anglais
n'oublie pas que la base de test est vidée chaque nuit
nous utilisons toujours utc dans la base
non, le serveur tourne sur le port 8443
"""

PASSING = """
rename foo to bar everywhere
add a dark mode toggle
can you always show the sidebar?
why does it always crash on startup
it always crashes when i click save
the page is always blank on safari
i never saw that error before
i always get a 404 here
i think we should use redis
maybe we always need the lock
what if we never cached it
if we switched to rust it would be faster
my colleague says we should never use orms
the docs say always close the connection
he always breaks the build
thanks, that works
looks good to me
never mind
no, the other file
no thanks
no i mean the second test
no, not that one, the one above
no, leave it as it is
no the docs are fine
that's wrong, try again
wrong file
run the tests again
use a dict instead
use port 3000
dont touch the tests
don't add comments
let's use a set here
let's keep it simple
let's go with the second option
go with that
i like it
i prefer the first one
i love this
i'll do it tomorrow
i need this by friday
we have a bug in checkout
we need to fix the login
the test fails on ci
the build is broken again
the response should be json
the modal should close when i press esc
the user clicks save and sees a toast
make it always return a list
always? really?
commit and push
the api key is sk-live-4242424242424242
my password is hunter2
remember the milk lol
do you remember what we decided
i dont remember the name
suppose we use grpc
the button is on the left but should be on the right
the list is empty after login
here is the log
see the attached file
the function returns null for empty input
this is the file i mean
we are getting a 500 from the gateway
we're in a hurry
we are almost done
the tests are green now
all tests pass
all good
every test is red
our ci is down
the deploy is stuck
i want a button that says save
i want you to refactor this
write a readme that says we use mit
say 'we always win' in the footer
haha yes we never test
ok do it
kannst du das immer so machen?
mach das bitte
füge einen test hinzu
das geht nicht, immer noch rot
añade un botón
ajoute un test pour ça
is it true that we use kafka
there is no test for this
there are two ways to do this
it needs a test
the form needs a reset button
both are fine
that is not what i asked
the first one is better
ok always the same with this test
this test never passes on my machine
it should always be the first in the list
always show the latest first in this list view
the dropdown never closes
we never get the callback
we always get a timeout from the payment api
why do we always rebuild everything
should we use bun here
do we use bun here
are we on node 20
we could use redis
we might switch to bun
i was thinking we use kafka
not sure if we use sqs or rabbit
someone said we use tabs
tom always merges his own prs
according to the readme we use yarn
stack overflow says never use eval
in the old days we always used svn
if you see a bug fix it
if it fails, try again
lets do it
lets try redis
lets see
let's write a test first
we need a new endpoint for this
we need to talk about naming
we want the table to be sortable
we have to finish this today
the endpoint should return 201
the new page must have a title
the table has a column for price
add a column for the price
the text is in the wrong color
the error is in line 40
the file is in src/foo.ts
the bug is in parser.py
it is in utils.py
this function is used in three places
that's in the config
i have two errors
i have a question
i want this to be red
i'd like a summary
i use this function in two places
i am on the train
i'm done for today
i'm getting an error
i never asked for that
i only want the first part
i like the idea
i love how this turned out
i hate this bug
i prefer option b
i prefer this version
great, i always forget that
my test is failing
my branch is behind main
my change is in the last commit
no problem
no worries
no, that's fine
no wait
no, do the first one
no, use the other function
no need to test
no it should be blue
no, the button should be green
not that file
that is not correct, look again
wrong, try again
actually, leave it
actually can you undo that
actually nevermind
sorry, typo
i meant foo.ts
the answer is no
turns out i had a typo
found it, thanks
my bad, wrong branch
that's right
you are right
you are absolutely right, we never did that lol
make sure all tests pass
make sure it never throws
ensure the list is always sorted
check that we never call this twice
rename all files in this repo
search for TODO in this project
list all endpoints of our api
explain our deploy process
document in this repo how we deploy
write an ADR: we decided to use kafka because of ordering
add to the readme that we use pnpm
put a comment there that says never change this
the commit message should be "we never do this"
generate a config where all services use port 80
all of them
all files are changed now
every file has this problem
each time i run it, it takes 5 minutes
our customer is angry
our meeting is at 3
we are at a conference next week
the demo is on monday
remind me tomorrow
can you remember this
what do you remember about me
wir haben ein problem mit dem login
wir müssen das heute fertig machen
das ist immer noch kaputt
ich habe immer einen fehler
ich glaube wir nutzen kafka
siempre da error
siempre falla el test
no funciona
on a un bug dans le formulaire
c'est toujours rouge
je n'ai jamais vu ça
j'ai toujours une erreur
can we make it a rule to always squash?
is it ok if i never rebase
somebody told me we never use mocks here
the intern thinks we use svn
our competitor always ships on friday
in my last company we always used svn
at my old job we never wrote tests
they prefer java
the ticket says: users must always confirm
the spec says the button must be blue
requirement: the user must be able to log in
acceptance criteria: the list has to be sorted
if we decide to use kafka we need a cluster
once we have decided on a db, add it
imagine we always had 2 replicas
lets pretend we use oracle
for this task use python 3.8
just for this test use sqlite
use the staging db for now
this time skip the tests
skip the tests
for the demo we use fake data
temporarily disable the check
right now we have no tests
at the moment the api is down
i'm using node 20 right now
i have no idea why it never works
it never worked
that never happened before
this always happens on mondays
the cron always fails on sunday
ok i always knew that
why not always use const
always use const here?
we should always use const
we should probably never do that
shouldn't we always lock
i'd say we never need it
no idea, we never used it
great job, i love it
perfect, this is what i wanted
yes please
yes, use that
sure go ahead
the second one is better
i prefer the shorter version
i like the first variant more
i want it green
i need it in german
make it so that admins can always see it
users should never see this page
add validation so that names are never empty
change the default to always
set retries to 5
set LOG_LEVEL=debug
the db password is Tr0ub4dor&3
it's in the .env file
the config is wrong
the endpoint is /api/v2/users
the function is called parseRow
the class is in foo.py
call it parseRow
name the branch fix-login
the new name is OrderService
the pr is number 42
we're done here
we're good
we are nearly there
we are seeing timeouts since the deploy
we got a complaint from a customer
we had an outage yesterday
we have 3 failing tests
we need tests for this
we want to ship today
we only have one hour
we all make mistakes
all clear
all done
all tests are red
every time i save it crashes
each row has a checkbox in the mock
the mock shows a table with 3 columns
the design has a blue header
the icon is 24px but should be 16
the page uses the old header, replace it
the query uses a full scan, make it faster
this uses too much memory
that runs on every keystroke, debounce it
it needs to be faster
it has to be done by 5
this must be fixed
there must be a bug
that must be it
you must be kidding
you have to escape that
you need to import it first
nie gesehen
immer das gleiche
der button ist immer deaktiviert
die seite lädt nie
kannst du immer die tests laufen lassen?
wir haben einen bug
wir brauchen einen neuen endpoint
ich brauche das bis morgen
ich habe das nie gesagt
siempre pasa lo mismo
nunca funciona
por qué siempre falla
tenemos un bug
hay que arreglar esto hoy
no entiendo
toujours pareil
ça ne marche jamais
on a besoin d'un nouveau champ
il faut corriger ça aujourd'hui
je ne comprends pas
"""
