"""Words that are one token in both tokenizers, and the pairs of letters that words have."""

WORDS = """
a about access account active add added address after age agent air alert all also always am an
and another answer any api app archive are art as ask at author b back bad bar base be because
before below best bet between big bin bit block blue board body book books both box br branch
break bridge bug build building but button by c cache calendar call can car card care case
category change channel check ci city class client close club code column come command common
community company configuration connection content context control copy core cost could count
create cross customer d da dark data database date day days db de default der design details dev
did dir disk display do document does dog domain don done down drive driver drop due e each edit
editor el else en end energy engine entry error even event events ever every example exit f fa
fact fail failed false family far field file files filter final find first fish five fix fl flag
flow follow for form format found four free friend from full fun g game gate get getting go good
got graph green group guard guide h had half hall hand hard has hash have he head header help her
here high him his hit hold home host house how http i id if image import in index input inside is
issue it items its java job just k keep key kind know l la lab label language last late learning
left less let level library life light like line link list live load local lock log long look
looking loop lost lot low m machine made mail main make manager many map mark match max may maybe
me mean mel memory message min mind mode model module month more most move music must my n na name
names natural near need network new news next nice night no node none not note notes nothing now
null number o object of off office oh ok ol old on once one online only open optional options or
order other our out output over p page park part party pass password path pattern pay people per
period person phone pic pick picture pin place plan play plus point policy pool port post power pr
price print private problem process product production profile progress project public put python
q query question r ra race ran range raw re read reading real record red release report request
rest result results return returns review right ring road room root route row rule run running s
sam same save say school screen script search season second security see self send sent server
service services session set settings sh share shared she short should show side sign similar
since single site six size small so some something source space special split sql stack stage
stand start state states station status step stop storage store story string studio style success
such super support switch system t table tag tags take target task tax team ten term test text th
that the then there they third this three through time times title to today token tool tools top
town trace train training true try ts turn two type under unit unless until up update updated us
use user users v valid value ve vector version very via video view wait walk warning was watch
water way we web week well what when where which while who why will window windows with without
word work working works world write writing x ya year yes you your z za
"""
PAIRS = {
    "a": "abcdefghiklmnprstuvwxyz",
    "b": "abeijlorstuy",
    "c": "acehikloprstuy",
    "d": "abcdefghiklmnoprstuvwy",
    "e": "abcdefghijklmnopqrstuvwxyz",
    "f": "aefilorstuy",
    "g": "abeghilmnoprstuy",
    "h": "abdeilmnorstuy",
    "i": "abcdefgklmnopqrstuvxz",
    "j": "aeiosu",
    "k": "adefilmnostuwy",
    "l": "abcdefgiklmnoprstuvy",
    "m": "abcefilmopstuy",
    "n": "abcdefghijklmnoprstuvwy",
    "o": "abcdefghijklmnoprstuvwxy",
    "p": "acdefghilmoprstuy",
    "q": "lu",
    "r": "abcdefghiklmnoprstuvwy",
    "s": "abcdefghiklmnopqrstuvwy",
    "t": "abcdefhilmnoprstuwyz",
    "u": "abcdefgiklmnoprstyz",
    "v": "aeio",
    "w": "aehilnors",
    "x": "acehipt",
    "y": "abcdeilmnoprstuw",
    "z": "aeioyz",
}
