"""Words that a name may be spelled like, so that replacing them everywhere would ruin a text."""

_NOBODY = """
maintainer maintainers team teams contributor contributors bots actions action dependabot
renovate
automation commit committer author authors group company corp
admin administrator agent agents airflow alpine anon anonymous ansible apache api app apps
arch assistant azureuser backup bin bot build builder builds cd centos ci claude client
cloud code coder codespace codespaces codex common computer container copilot daemon data
database debian default demo deploy deployer deployment desktop dev develop developer devops
devs docker ec2-user elastic elasticsearch example false fedora file files ftp games git
github gitlab gnats golang grafana guest hadoop hdfs home host hostmaster http httpd https
hudson info intern irc java jboss jenkins jovyan k8s kafka kubernetes laptop lib library
list local localhost machine mail main man mariadb master me module monitor my myself mysql
nagios name news nginx nobody node none null office openai operator ops oracle owner package
pi podman postgres postgresql postmaster private prod production project projects prometheus
proxy public python qa redis repo robot root ruby runner rust sample sandbox sap self server
service services sftp share shared spark src sre ssh sshd staff staging student students
sudo superuser support sync sys system teacher temp test tester testing tests this tmp
tomcat trainer training true ubuntu undefined unknown user username users vagrant vm vpn
vscode web weblogic webmaster websphere wheel work worker workers workspace workstation www
www-data zabbix
"""
NOBODY = frozenset(_NOBODY.split())

# Given and family names that are ordinary words of English, or of programs.
_ORDINARY = """
abbey acre air ale almond alpha amber angel ann apple april arch archer ark arrow art ash
aspen aster atom august author autumn baker banana banks bar barber bard barker barrel base
bash basic basil bass bay beach bean bear beck bell berry beta bill bird black blade blaze
bliss block bloom blue bolt bond booker booth boss bow bowl boy branch brand bravo bray
breeze brick bridge bright brook brown buck bud bull burn bush butler buzz byte cable cache
cage cain camp candy cane cannon carbon card carpenter carry carter carver case cash cast
castle cat cell chain chance chandler chart chase cherry chili chip church city class clay
cliff close cloud coal coast cocoa coffee colt comet comfort con cook cooper core corn cosmo
cotton court cox crane crew crisp crook cross crow crystal css cupid curry cutter cyan daisy
dale dance dancer dart dash date dawn day deacon delta den destiny diamond dig divine dns
doc dodge dolly dot dove dragon draper dreamer drew drop duke dusty eagle earl early earth
east echo eden editor elder elm ember english epsilon eth eve ever evergreen faith falcon
fan farmer fern field fields fig finch fire fisher flag flame flash flint flower fly ford
forest foster fox foxtrot frank free freeman french friday frost fuller gable galaxy gale
gamer gamma garden gardener garland gate gates geek gem gene genesis ghost ginger git glen
glm glory go god gold golden golf good goose grace grain grand grant grape graph gray green
grep grey grid grove guy hacker hale hall hand handy hank happy harbor hardy harp harper
hart hash haven hawk hay hazel heart heath heather heaven helper herb hero hill holder
holiday hollow holly honey hood hook hope hopper hotel hour house html hull hunt hunter idea
indigo ink ion iot iris iron ivory ivy jack jade jar jasper jax jay jazz jersey jet jewel
job jolly journey joy json judge julia july june juniper just justice karma keen kelp key
king kit kiwi knight knot lace lake lamb lambda lance land lane lark laser laurel law leaf
legend lemon len lex lib liberty light lightning lily lime link lion lisp list little lock
log long lotus love low lua luck lucky lynx mac mace magic magnet major maker mal mallow man
mane mango manor maple marble march mark market marsh marvel mason mast mat max may mead
meadow media melody melon mercy merit merry miles mill miller min mind mint miracle mist
mode mole monday money moon moose morning moss mote motto mountain mouse neat nebula neo
nerd nest net neutron nick night nim ninja noble norm north nova novel numpy nut oak ocean
olive omega onyx opal orange orchid orion os otter owl page paint painter palm pan panda
pansy park parker parson pascal pat patch patience pax pea peace peach peak peanut pearl pen
penny pepper perl pet petal phoenix photon php pierce pike pilot pine pip piper pixel player
plum pod polo pool poppy port porter post potter power praise precious price priest primrose
prince princess proton prudence purple quark queen quill quince rain rainbow ram ranger
raven ray read reader red reed reef rein rex rice rich ridge ring rip river rob robin rock
rocket rocky rod roman romeo roof root rope rose rosemary rot rover row royal ruby rue rush
rusty rye sable sage sailor salt sand sandy sass satin saturday sawyer say sayer scala
scarlet scout sea seal search sed selfless serene serenity sergeant set seven shade shadow
sharp shell shepherd short sierra sigma silver sim singer sketch skip sky slate slater small
smart snow sol solo song soul sparks sparrow spear spirit spring spruce star stark steel
step sterling stern steward stone storm story strange street strong sue summer summers sun
sunday sunny swan sweet swift tab tango tao teal temple tern tex theta thinker thorn thunder
thyme tiger tile timber tin toast toll topaz tor tower town trace trey trinity trip true
truth tucker tulip turbo turner unity val vale van venus verity vesper victor victory vim
viola violet virtue vivid vue wade walker wall ward ware warren washer water waters watt
watts wave way weaver wed wednesday weeks wells west wheat wheel whiskey white wick wilder
will willow wills win wind winner winter wise wish wit wizard wolf wood woody worth wren
wright writer yam yankee yard yen young zen zephyr zeta zulu
"""
ORDINARY = frozenset(_ORDINARY.split())

# Given names that the stems of ordinary words contain, because people quote people.
_GIVEN = """
adam alan albert alex alice allen andrew anna anthony arthur barry ben benjamin bernard bob
brian carl charles chris dan daniel dave david dennis donald douglas edward emma eric fred
george gerald henry jacob james jane jason jeff jim john jonathan joseph josh karl kate keith
kelly ken kevin larry linda linus lisa louis lucas lucy luke maria martin mary matt michael
mike nancy neil oscar patrick paul peter phil philip ralph randall richard robert roger ron
ronald samuel sarah simon stephen steve stuart susan thomas tim tom tony walter wayne william
"""
GIVEN = frozenset(_GIVEN.split())
