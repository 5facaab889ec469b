"""Texts of a hundred thousand characters, each made to keep some pattern busy."""

SIZE = 100_000
PIECES = {
    "letters": "a",
    "digits": "1",
    "digits and spaces": "1 ",
    "digits and dashes": "1-",
    "digits and dots": "1.",
    "digits and brackets": "(1) ",
    "plus signs": "+1",
    "at signs": "@",
    "letters at letters": "a@a.",
    "long local part": "a.b-",
    "hosts without end": "@a-a.a-a",
    "wide letters": "ä@ä",
    "ideographs": "密码",
    "tokens cut short": "eyJ",
    "tokens in parts": "eyJaaaaaaaaaa.",
    "keys after keys": "sk-ant-",
    "passwords of passwords": "password=",
    "passwords and quotes": 'password="',
    "password is": "password is ",
    "password for": "password for a ",
    "secret words": "secret_access_key ",
    "key blocks never closed": "-----BEGIN PRIVATE KEY-----",
    "logins without host": "://a:",
    "colons": "://" + "a" * 60 + ":",
    "bearer": "bearer ",
    "authorization": 'authorization: "',
    "account": "GB29 NWBK ",
    "address": "2606:4700:",
    "groups": "2a00::",
    "hex": "0a1b2c3d",
    "phones": "tel +44 20 ",
    "call": "call me at me at ",
    "twilio": "twilio auth ",
    "backslashes": "token\\\\",
    "brackets": "[EMAIL_",
    "placeholders": "[EMAIL_00000000] password=",
    "blanks": "token     ",
    "many finds": "a@b.de ",
    "many finds in a row": "a@b.de,password=hunter22;",
    "names of numbers": "SSN 1 BSN 2 PESEL 3 ",
}
# the address at the end makes it two rounds
TEXTS = {
    name: (piece * (SIZE // len(piece) + 1))[:SIZE] + " bob@example.com"
    for name, piece in PIECES.items()
}
