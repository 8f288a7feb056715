"""The words by which text that is addressed to machines is told from text that reports a study.

Patterns named OPENING are matched at the start of a sentence, the others are searched for in it, after it was folded by
`screening.folded`. They were set on payloads and read against some thirty thousand genuine titles and abstracts;
`benchmarks/injection.py` counts both.
"""

import re
from typing import Any, cast


def pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """As `re.compile`, at the first use: a start need not wait for it, and a mistake in the text shows only then.

    >>> pattern("a+").fullmatch("aaa").group()
    'aaa'
    """
    return cast("re.Pattern[str]", _Later(text, flags))


class _Later:
    def __init__(self, text: str, flags: int) -> None:
        self._written = text, flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(*self._written)
        for method in ("search", "match", "fullmatch", "finditer", "findall", "sub", "split", "pattern", "flags"):
            setattr(self, method, getattr(compiled, method))  # from now on nothing stands between
        return getattr(compiled, name)


def _any(*patterns: str) -> re.Pattern[str]:
    return pattern(_one_of(*patterns), re.IGNORECASE)


def _one_of(*patterns: str) -> str:
    return f"(?:{'|'.join(patterns)})"


_LEAD = (
    r"\W*(?:(?:please|now|then|also|so|and|important|note|urgent|attention|warning|first|next|instead|before you \w+"
    r"|as your \w+,? i order)\b[,:!]?\s+){0,3}(?:you (?:must|should|shall|may|can|will|need to|have to|are to)\s+)?"
    r"(?:(?:do not|don't|never|always|just|simply|immediately)\s+)?"
)
"""What may stand before the verb of an order."""
_WHOM = (
    r"(?:(?:ai|language|large language)[ -]?)?(?:models?|assistants?|reviewers?|judges?|summari[sz]ers?|analysts?|llms?"
    r"|bots?|agents?|machines?)"
)
_RULES = r"(?:instructions?|prompts?|guidance|directions|commands?|orders|rules|guardrails|constraints|messages?)"
_GRADES = (
    r"(?:strong|high|highest|moderate|convincing|proven|definitive|conclusive|retracted|refuted|first|best|verified|true"
    r"|reliable|supporting|supportive|sufficient)"
)

ROLES = (
    r"<\|[^|<>\s]{1,30}\|>",
    r"\[/?INST\]",
    r"<</?SYS>>",
    r"</?(?:records?|system|assistant|user|human|tool\w*|developer|function_?\w*|results?|instructions?|prompt|context)"
    r"\b[^<>]{0,60}>",
    r"[-=*#]{3,}\s*(?:new|begin|end|start)\b",
    r"```|<!--\s*\w|\{\{.{0,40}\}\}|\{%",
    r"\[\s*(?:system|assistant|user|prompt|instructions?)\s*\]",
)
SPOKEN_ROLES = (
    r"\b(?:begin|end) (?:of )?(?:override|prompt|system prompt|injection)\b",
    r"\brm -rf\b|\b(?:print|eval|exec|os\.system)\([\"']|\bsudo (?:rm|su|sh|bash|cat|apt|curl)\b",
    r"\b(?:curl|wget) \S*\w+\.\w",
)
OPENING_ROLES = (
    r"\W*(?:system|assistant|human|user|developer|tool|ai)\s?:\s",
    r"#{1,6}\s*(?:system|assistant|human|user|instructions?)\b",
    r"\W*(?:new|next|real|your|actual|hidden)? ?(?:task|instruction|prompt|command|override)s?\s?:\s",
    r"\W*thought\s?:\s",
    r"\W*end of (?:the )?(?:records?|data|context|input|documents?|prompt|abstract)\W*$",
)
"""Delimiters and roles of conversations with models."""

ANSWERS = (
    r"""[{,]\s*["'][\w ]{1,40}["']\s*:\s*(?:["'\d\[{-]|true\b|false\b|null\b)""",
    r": (?:ok|partial|unavailable), \d+ of \d+$",
)
SPOKEN_ANSWERS = (
    r"(?:ToolCall|FunctionExecution|FunctionCall)\w",
    r"\b(?:verdict|recommendation|stance|direction|confidence)\s?=\s?[\"']?(?:strong|weak|supports?|contradicts?|refuted|synthesi[sz]e"
    r"|positive|negative|[01]\.0)\b",
    r"\baction\s?:\s*(?:finish|search|stop|final)",
)
OPENING_ANSWERS = (
    r"\W*round \d+\s*:\s*(?:continue|synthesi[sz]e)\b",
    r"\W*(?:next query|gap)\s?:\s",
    r"\W*\w[\w ]{0,40}: \d+ for, \d+ against\b",
    r"\W*(?:final )?(?:verdict|stance|label|output|output format|answer)\s?[:=]\s*[{\"']?(?:supports?|contradicts?"
    r"|refuted|strong|weak|synthesi[sz]e|verdict|positive|negative|ineffective|effective|approved?)\b",
)
"""What tools, judges and models answer with: JSON, events, and the lines of Willowbark's own prompts."""

ADDRESSED = (
    rf"\b(?:note|message|memo|attention|instructions?) (?:to|for) (?:the |any |all )?{_WHOM}\b\s*[:,!]",
    r"\b(?:instructions?|orders?) (?:to|for) (?:the |any |all )?(?:ai|llms?|language models?)\b\s*[:,!]",
    r"\byou(?: are|'re) (?:now|no longer|hereby)\b(?! (?:being )?(?:pregnant|taking|enrolled|eligible))",
    r"\bdeveloper mode\b",
    r"\bas (?:an ai|a (?:large )?language model|your (?:developer|creator|administrator|operator))\b",
    r"\bif you(?: are|'re) (?:an? )?(?:ai|llm|bot|machine|(?:large |ai )?(?:language )?model|automated \w+)\b",
    rf"\b{_WHOM} (?:are|is) (?:kindly |hereby |therefore )?(?:asked|requested|required|instructed|urged|ordered) to "
    r"(?:rate|grade|rank|score|treat|mark|regard|cite|name|recommend|conclude|report)\b",
    r"\bautomated (?:screening )?(?:tools?|systems?|readers?|agents?) (?:must|shall|are to)\b",
    r"\b(?:for|to) (?:automated|machine|ai|llm|artificial) (?:readers?|reviewers?|agents?|summari[sz]ers?)\s?[:,]",
    r"\b(?:llm|ai)-readable\b|\b(?:tl;?dr|summary) for (?:ai|llms?|models?|machines?)\b",
    r"\byou (?:must|should|shall|have to) (?:not |never |now |always |only )?(?:report|rate|say|conclude|recommend"
    r"|state|cite|answer|write|rank|obey|ignore|grade|score|summari[sz]e|respond|reply|approve|classify|output)\b",
    r"\byour (?:task|role|goal|job|mission|ranking) (?:is|was changed)\b|\bin your ranking\b",
    rf"\b(?:whoever|anyone|ai|machine|classifier|{_WHOM}) (?:(?:that |who )?reads|reading|processing|processes)"
    r" this\b",
    r"\b(?:order|command|instruct|authori[sz]e)s? you to\b|\bmake (?:the|an|any) (?:ai|llm|model|machine) \w+\b",
    r"\bthis (?:text|line|sentence) (?:was|is) (?:inserted|added|put here)\b",
    r"\beverything (?:before|above) this (?:line|point)\b",
    r"\bany (?:summary|review|report|answer) of this (?:paper|record|article|abstract|study|trial)\b",
    rf"\b{_WHOM} (?:must|should|shall|has to|have to|is (?:ordered|required) to) (?:now )?(?:rate|grade|rank|score"
    r"|treat|mark|regard|consider|count) [^.!?]{1,80}\b(?:as|first)\b",
    rf"\b{_WHOM} (?:must|shall|has to|have to) (?:ignore|disregard|discard|cite|name|approve|conclude|recommend"
    r"|obey)\b",
    r"\b(?:in|into|to|of|from|with|modify|end|begin|start|precede|render|augment|enhance|rewrite|change) your "
    r"(?:(?:final|next|own) )?(?:answer|response|reply|output|message|verdict|summary|report|context window"
    r"|system prompt)s?\b",
    r"\byour (?:answer|response|reply|output|message)'s\b",
    r"\b(?:reveal|print|leak|disclose|repeat|output)\b[^.!?]{0,30}\b(?:your|system) prompt\b",
    r"\bthe user (?:has )?(?:changed|wants|asks?|asked)\b[^.!?]{0,20}\b(?:question|you)\b",
    rf"\bobey(?:s|ing)? (?:(?:the|this|these|my|every|all|our) )?(?:records?|authors?|lines?|sponsor|me|{_RULES})\b",
    r"\bfollow (?:the author|this record|the record|these orders|my orders)\b",
    rf"\boverr(?:ide|ule) (?:the|your|all|any) (?:judge|reviewers?|verdict|system|safety|{_RULES})\b",
)
OPENING_ADDRESSED = (
    r"\W*(?:important |urgent )?system (?:notice|message|override|alert|instruction)\b",
    r"\W*from now on,? (?:you|write|answer|act|respond|rate|treat|ignore)\b",
    r"\W*(?:dear|hello|hi|hey|attention)\W+(?:\w+ ){0,2}?(?:ai|model|chatgpt|gpt|claude|gemini|llm|assistant|bot)s?\b",
    rf"\W*(?:dear |hey |hello )?{_WHOM}\s?[,!]\s+(?:you|please|forget|ignore|disregard|rate|do|don't|never|always"
    r"|stop)\b",
)
"""Words to a model, an assistant, a reviewer; to whoever writes the answer."""

ORDERS = (
    r"(?<!told to )(?<!asked to )(?<!trained to )(?<!instructed to )"
    r"\b(?:ignore|disregard|forget|override|bypass)\s+(?:\w+\s+){0,3}?(?:previous|prior|above|earlier|preceding|all|any"
    r"|other|these|those|your|everything)\s+(?:\w+\s+){0,3}?"
    rf"(?:{_RULES}|records|entries|evidence|lines|context|sources|findings|above|before)\b",
    r"\bset (?:the )?(?:recommendation|verdict|confidence) to\b",
    r"\b(?:kindly|please) (?:ignore|disregard|forget|rate|score|grade)\b",
    r"\bthe (?:true|correct|right|real) (?:answer|verdict|label|conclusion) is\b",
    r"\b(?:sentence|line|text) is an (?:instruction|order)\b|\brepeat after me\b",
)
OPENING_ORDERS = _LEAD + _one_of(
    r"(?:ignore|disregard|forget|override|bypass|discard)\s+(?:the|all|any|every|everything|what|your|this|other|my"
    r"|previous|prior)\b",
    r"(?:rate|grade|rank|treat|mark|regard|classify|accept)\s+(?!of\b|control|ratio|limit|\d)[^.!?]{1,80}?\b(?:as|with)"
    rf"\b[^.!?]{{0,40}}?\b{_GRADES}\b",
    r"(?:rank|name|list|put|place|mention|cite)\s+(?:\S+\s+){1,5}?(?:first|at the top|above (?:all|every))\b",
    r"(?:cite|quote|reference)\s+(?:(?:the|this|pmid|doi|nct)\b|https?:|\d)",
    r"(?:set|raise|lower|change|increase)\s+(?:the|its|their|your)\s+(?:certainty|confidence|rating|grade|verdict"
    r"|recommendation|score)s?\b",
    r"stop (?:searching|here|reading|now|and)\b",
    r"(?:call|invoke|run|execute|use) (?:the )?(?:tools?|function|command|shell)\b",
    r"(?:call|invoke|run|execute|use) (?:the )?(?:tool )?'?\w+(?:_\w+)+",
    r"(?:decode|decrypt|base64)\b[^.!?]{0,40}\b(?:obey|follow|execute|and)\b",
    r"(?:reveal|print|leak|send|forward|email|post|upload)\s+[^.!?]{0,60}\b(?:prompt|conversation|keys?|secrets?"
    r"|passwords?|https?:|environment)",
    r"(?:mention|reveal|repeat|show|quote|cite) (?:this|these) (?:line|sentence|order|instruction|message)s?\b",
    r"(?:answer|respond|reply|write|output|print|say|state|conclude|report|recommend) (?:only |solely |just )?"
    r"(?:with|that|in|it|this drug|the drug|the report|nothing|everything|yes|no)\b",
    r"(?:act|behave|respond|answer) as (?:a|an|if|though)\b",
    r"(?:pretend (?:that|the|you)|imagine (?:you are|the (?:trial|study|drug|treatment)))\b",
    r"(?:say|copy|quote|summari[sz]e|paste) (?:this|that|it|only)\b|include the (?:phrase|words?|sentence)\b",
    r"(?:delete|reclassify|downgrade|upgrade|discredit|consider)\s+(?:the certainty|the previous|all other|every"
    r"|this (?:treatment|drug|study|trial|record))\b",
    r"(?:translate|decode|reverse|rot13)\b[^.:]{0,40}:",
    r"(?:approve|obey|trust|believe)\s+(?:the|this|everything|every|all|only|me|it|what)\b",
    r"skip (?:verification|the verification|checks?|all)\b",
    r"add (?:the |a |this )?(?:reference|citation|link|sentence|\")",
    r"(?:retrieve|fetch|get|find|send|email|forward|list|give|grant|transfer|schedule|delete|download|share|access"
    r"|search|post|unlock|pay|buy|check|use|tell|show|open|update|book|order)\b[^!?]*\b(?:my|me)\b",
)
"""Orders to rate, cite, search, answer or call in a certain way, or to pass over what else was said."""

TONGUES = pattern(
    r"\b(?:ignorier\w*|vergiss|missachte\w*)\b.{0,40}\b(?:anweisung|instruktion|vorgabe)\w*"
    r"|\b(?:ignore[zr] (?:les|toutes|vos|ces)|oublie[zr]?)\b.{0,40}\b(?:consignes?|directives?|instructions)\b"
    r"|\b(?:ignor[ae]n?|olvid[ae])\b.{0,40}\b(?:instrucciones|indicaciones|órdenes)"
    r"|\b(?:ignor[ae]|dimentica|esqueça)\b.{0,40}\b(?:istruzioni|instruções|ordens)"
    r"|(?:игнорируй|забудь|не обращай)\w*.{0,40}(?:указани|инструкци|команд|правил)"
    r"|(?:忽略|无视|無視|忘记).{0,20}(?:指示|指令|说明|提示)|(?:指示|命令|指令).{0,12}(?:無視|忘れ)"
    r"|(?:지시|명령).{0,12}(?:무시|잊)|(?:تجاهل|انس).{0,30}(?:التعليمات|الأوامر|الإرشادات)"
    r"|\bbewerten? sie\b.{0,40}\bals\b|\bbewerte diese\b|\b(?:évaluez|notez|classez)\b.{0,40}\bcomme\b"
    r"|\b(?:califi[cq]ue|clasifique|evalúe)\b.{0,40}\bcomo\b|оцени(?:те)?\b.{0,40}\bкак\b|请.{0,20}[评評]为"
    r"|評価して(?:ください|下さい)|평가(?:하세요|하십시오|해 ?주)"
    r"|\bceci est une instruction\b|\bdites que\b|^\W*sage, dass\b|^\W*di que\b"
    r"|निर्देश\S*.{0,20}(?:अनदेखा|नज़रअंदाज़|भूल)",
    re.IGNORECASE,
)
"""The order to pass over what was said before, in other languages; matched without folding."""

SIGNS = tuple(pattern(each, re.IGNORECASE) for each in (*ROLES, *ANSWERS))
"""Each alone: what begins with a mark is found quicker than one of many."""
SPOKEN_SIGNS = _any(*SPOKEN_ROLES, *SPOKEN_ANSWERS)
SPOKEN_KEYS = frozenset(
    "begin end rm print eval exec os sudo curl wget verdict recommendation stance direction confidence action".split()
)
SPOKEN_NAMES = ("toolcall", "functionexecution", "functioncall")
"""A sentence in small letters with none of these as words or parts of words matches none of SPOKEN_SIGNS."""
WORDS = _any(*ADDRESSED, *ORDERS)
OPENING = _any(*OPENING_ROLES, *OPENING_ANSWERS, *OPENING_ADDRESSED, OPENING_ORDERS)
KEYS = frozenset(
    "added agent agents ai analyst analysts any anyone assistant assistants authorise authorises authorize"
    " authorizes automated bot bots bypass classifier command correct developer disregard everything follow forget"
    " here ignore inserted instruct instruction judge judges kindly language llm llms machine machines model"
    " models obey obeying obeys order override overrule please prompt real repeat reviewer reviewers right set"
    " summariser summarisers summarizer summarizers true user whoever you your".split()
)
"""A sentence with none of these matches none of WORDS: it need not be searched."""
TONGUES_KEYS = (
    "ignor;bewerte;instruction;dites;sage,;notez;classez;califi;calfi;clasifi;evalue;vergiss;missacht;oublie;olvid;"
    "dimentica;esquec;di que;évaluez;evalúe;esqueç"
).split(";")
OTHER_LETTERS = (
    ("\u0400", "\u04ff"),
    ("\u0600", "\u06ff"),
    ("\u0900", "\u097f"),
    ("\u3040", "\u30ff"),
    ("\u4e00", "\u9fff"),
    ("\uac00", "\ud7af"),
)
"""First and last letters of scripts; what holds none of them and none of TONGUES_KEYS matches nothing of TONGUES."""

IMPERATIVE = _any(
    rf"{_LEAD}(?:explain|provide|translate|write|compose|draft|render|rearrange|scramble|misspell|retrieve|augment|integrate"
    r"|modify|enhance|convert|replace|substitute|generate|create|develop|jumble|describe|give|add|include|introduce|remove"
    r"|suggest|promote|tease|download|send|save)\s+(?:a|an|the|my|me|us|this|these|all|any|your|some|every|how|why|what|random|words|letters"
    r"|vowels|spaces)\b",
    r"\W*(?:can|could) you\b",
)
"""At the start of sentences in the imperative: they report nothing, whomever they are addressed to."""
QUESTION = re.compile(r"\W*(?:what|what's|who|whom|where|how|why|when)\b[^.!]*\?\W*$", re.IGNORECASE)
"""Questions for a fact or an explanation: they report nothing. Those that ask yes or no often are a study's own."""
