"""The words by which results say more, less, no different, and for whom.

The set was read off statements of results in trial reports; the tables of `benchmarks/quality.py` measure it.
"""

import re

UP = (
    r"increas(?:e[sd]?|ing)|higher|greater|larger|longer|more|rais(?:e[sd]?|ing)|rose|rises?|elevat(?:ed|"
    r"ion|es?)|improv(?:e[sd]?|ing|ements?)|"
    r"better|superior(?:ity)?|enhanc(?:e[sd]?|ing|ement)|prolong(?:s|ed|ation)?|gain(?:s|ed)?|most|exceed(?:s|ed)?|"
    r"favou?r(?:s|ed|ing|able)?|highest|longest|greatest|later|augment(?:s|ed)|promot(?:e[sd]?|ing)|"
    r"accelerat(?:e[sd]?|ing)|"
    r"grew|doubled|twice as (?:many|likely|high|often|much)|stronger|faster|boost(?:s|ed)|protect(?:s|ed|"
    r"ive)|effective|delay(?:s|ed)"
)
DOWN = (
    r"decreas(?:e[sd]?|ing)|lower(?:s|ed|ing)?|less(?:er)?|fewer|smaller|shorter|reduc(?:e[sd]?|ing|"
    r"tions?)|declin(?:e[sd]?|ing)|drop(?:s|ped)?|"
    r"fell|fall|diminish(?:es|ed)?|attenuat(?:e[sd]?|ion)|suppress(?:es|ed|ion)?|inhibit(?:s|ed)?|shorten(?:s|ed)?|"
    r"lowest|shortest|fewest|least|worse(?:ned|ning)?|poorer|inferior(?:ity)?|impair(?:s|ed)|earlier|"
    r"prevent(?:s|ed|ion)|"
    r"alleviat(?:e[sd]?|ion)|ameliorat(?:e[sd]?|ion)|reliev(?:e[sd]?)|minimi[sz]ed?|weaker|slower|blunted|"
    r"deteriorat(?:ed|ion)|"
    r"halved|lost|loss|slow(?:s|ed|ing)?|halt(?:s|ed)?|revers(?:es|ed)|imped(?:es|ed)|mitigat(?:e[sd]|ing)|rarer|eliminated"
)
CUE = re.compile(rf"\b(?:(?P<up>{UP})|(?P<down>{DOWN}))\b", re.IGNORECASE)
NOT_A_CUE = re.compile(
    r"(?:for|in|of|at|against) (?:the |its )?(?:[\w-]+ ){0,2}?(?:prevention|suppression|alleviation) of|"
    r"loss of response|"
    r"more than (?:one|two|half|twice|\d)|less than (?:one|half|\d)|(?:or|and) more\b|at least|"
    r"more often asked|better understand|"
    r"higher order|lower (?:limb|extremit|back|respiratory|abdom|leg)|least[- ]squares?|loss to follow|"
    r"lost to follow|most (?:common|frequent|of)|greater trochanter|"
    r"reduced[- ](?:dose|calorie|fat)|increasing doses?|non-?inferior(?:ity)?|no (?:better|more|worse|less) than",
    re.IGNORECASE,
)
EFFECT_NOUN = (
    r"(?:difference|change|effect|improvement|reduction|increase|decrease|benefit|impact|influence|"
    r"variation|association|"
    r"advantage|superiority|evidence|interaction|decline|gain|trend)s?"
)
NULL = re.compile(
    r"|".join(
        (
            rf"\b(?:no|nor|without|any|neither)\b(?:\s+(?!but\b)[\w/%-]+){{0,6}}?\s+{EFFECT_NOUN}\b",
            r"\b(?:not|n't|never|nor)\b(?:\s+[\w-]+){0,3}?\s+(?:significant(?:ly)?|differ(?:ed|ent|ently)?|"
            r"statistically)\b",
            r"\b(?:did|does|do|was|were|is|are|has|have|had|could|can|may|would)(?:\s*not|"
            r"n't)\b(?!\s+only)(?:\s+[\w-]+){0,3}?\s+"
            r"(?:reduc\w+|increas\w+|improv\w+|chang\w+|affect\w*|alter\w*|influenc\w+|decreas\w+|lower\w*|prevent\w*|"
            r"differ\w*|enhanc\w+|modif\w+|impact\w*|reach\w*|achiev\w+|show\w*|demonstrat\w+|have|produc\w+|"
            r"prolong\w*|rais\w+|lead|"
            r"result|confer|provide|attain\w*|detect\w*|observed|found|seen|superior|better|effective|associated|"
            r"higher|greater|more|less|"
            r"shorter|longer|fewer|worse|support|benefit|contribute|vary|varied)\b",
            r"\bnon-?\s?significant(?:ly)?\b|\binsignificant(?:ly)?\b|\bn\.?s\.?(?=[),;\s]|$)",
            r"\b(?:similar(?!ly,)(?:ly)?|comparable|equivalent|equal(?:ly)?|identical(?:ly)?|unchanged|unaffected|"
            r"unaltered|indistinguishable)\b",
            r"\bnon-?\s?inferior(?:ity)?\b|\bas (?:effective|safe|good|well tolerated|efficacious) as\b|"
            r"\bthe same\b|\bno (?:better|more|worse|less) than\b",
            r"\bfailed to\b|\black of\b|\bineffective\b|\bneither\b|\bno longer\b|\bremained (?:stable|constant)\b",
            r"\b(?:almost|nearly|approximately|about) (?:the same|equal|identical)\b|\bnone of the\b|\bbut not in\b",
            r"\b(?:no|not any|zero)\s+(?:[\w-]+\s+){0,3}?(?:adverse|serious|severe|complications?|events?|deaths?|"
            r"side|cases?|one|patient|participant|subject)\b",
            r"\btrends? (?:toward|to|for|in favou?r)|\btended to\b|\bborderline\b|\bnumerically\b|"
            r"\bmarginal(?:ly)?\b|\bslight(?:ly)?\b",
        )
    ),
    re.IGNORECASE,
)
BACK_REFERENCE = re.compile(
    r"\b(?:th(?:e|is|ese|ose) (?:\w+ )?(?:differences?|changes?|effects?|improvements?|trends?|"
    r"comparisons?|results?)|statistical(?:ly)? significan\w+|"
    r"between[- ](?:the )?(?:\w+ )?(?:groups?|arms?|conditions?|treatments?)|group-?wise|across groups|"
    r"it (?:was|did) not|this (?:was|did) not|"
    r"not (?:statistically )?significant|did not reach|(?:all|both) groups|p\s*[=>]\s*0?\.\d+)\b",
    re.IGNORECASE,
)
BOTH = re.compile(
    r"\b(?:in|for|by|with|within|across) (?:both|all|each|either|the two|the three|all three|all four)\b(?: \w+){0,2} "
    r"(?:groups?|arms?|conditions?|treatments?|interventions?|diets?|drugs?|regimens?|cohorts?)|\b(?:both|"
    r"all) (?:\w+ )?(?:groups|arms|treatments)\b",
    re.IGNORECASE,
)
HEADING = re.compile(r"(?:ABSTRACT\.)?([A-Z][A-Za-z]{3,}(?: [A-Za-z&/]+){0,5})\s?:{1,2}")
UNREAD = frozenset(
    {
        "background",
        "introduction",
        "aim",
        "aims",
        "objective",
        "objectives",
        "purpose",
        "context",
        "methods",
        "method",
        "design",
        "rationale",
        "setting",
        "materials",
        "patients",
        "participants",
        "trial",
    }
)
WITHIN = re.compile(
    r"\b(?:within[- ]group|intra-?group|from baseline|(?:compared (?:with|to)|versus|"
    r"vs\.?) (?:the )?baseline|before and after|pre-?treatment|over time)\b",
    re.IGNORECASE,
)
COMPARED = re.compile(
    r"\b(?:than|placebo|controls?|versus|vs|between|compared (?:with|to) (?!(?:the )?baseline))\b", re.IGNORECASE
)
AIM = re.compile(
    r"\b(?:aim(?:s|ed)?|objectives?|purpose|hypothes\w+|goal)\b|\b(?:to|we) (?:evaluate|assess|compare|"
    r"investigate|determine|examine|test|explore|study)\b|"
    r"\b(?:were|was) (?:randomi[sz]ed|randomly|assessed|measured|recorded|evaluated|enrolled|recruited|"
    r"collected|allocated|assigned|included)\b(?!.*(?:\bp\s*[<=>]|significant))|"
    r"\b(?:primary|secondary|main) (?:outcomes?|end-?points?)(?: measures?)? (?:was|were|is|"
    r"included)\b(?!.*\bp\s*[<=>])",
    re.IGNORECASE,
)
DEGREE = re.compile(
    r"greater|larger|more|higher|stronger|less|lesser|smaller|lower|weaker|better|greatest|highest|most|least",
    re.IGNORECASE,
)
MOVE = re.compile(
    r"reduc\w+|decreas\w+|declin\w+|drop\w*|fall|fell|increas\w+|rise|rose|elevation|lowered|lowering", re.IGNORECASE
)
BETTER_NOUN = re.compile(r"\b(?:reduction|decrease|decline)s?\b", re.IGNORECASE)
IMPROVEMENT = re.compile(r"\bimprovements?\b", re.IGNORECASE)
IMPROVE = re.compile(
    r"improv|better|superior|favou?r|enhanc|protect|effective|worse|poorer|deteriorat|inferior|impair|benefi",
    re.IGNORECASE,
)
