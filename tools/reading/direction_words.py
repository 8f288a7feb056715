"""The words by which sentences judge a treatment, plan a study, or speak of something else than efficacy."""

import re

PLAN = re.compile(
    r"\b(?:aims?|aimed|objectives?|purpose|goal) (?:of|was|is|were|to)\b|\bhypothes[ie][sz]\w*|"
    r"\b(?:sought|designed|undertaken|conducted|performed|planned|carried out) to\b|"
    r"\b(?:to|we|will|study|trial|paper|article) (?:evaluate|assess|compare|investigate|determine|examine|"
    r"test|explore|study|review|evaluates|assesses|compares|investigates|examines)[ds]?\b|"
    r"\bwhether\b(?!.*\b(?:found|showed|no evidence)\b)|^(?:ABSTRACT\.)?(?:background|aims?|objectives?|"
    r"purpose|introduction|methods?|design|setting|context)\b",
    re.IGNORECASE,
)
METHOD = re.compile(
    r"\b(?:were|was) (?:randomi[sz]ed|randomly|assigned|allocated|enrolled|recruited|administered|"
    r"measured|assessed|recorded|collected|followed|searched|included|selected|analy[sz]ed|evaluated)\b|"
    r"\b(?:primary|secondary) (?:efficacy )?(?:outcomes?|end-?points?)(?: measures?)? (?:was|were|is|are|"
    r"included|will)\b|\bis (?:a common|an? (?:\w+ ){0,4}(?:disease|disorder|condition|drug|agent))\b|"
    r"\b(?:is|are) (?:widely|commonly|often|frequently) (?:used|prescribed|recommended)\b|\bwill be\b|"
    r"\b(?:investigating|evaluating|assessing|examining|studying|comparing) the\b",
    re.IGNORECASE,
)
NEED = re.compile(
    r"\b(?:further|more|additional|future|larger|large|confirmatory) (?:[\w-]+,? ){0,5}(?:studies|trials?|"
    r"research|investigations?|work|data|evidence) (?:is|are|will be|should|need|needed|warranted|"
    r"required|to)|"
    r"\b(?:further|larger|future|additional) (?:[\w-]+ ){0,4}(?:studies|trials?|research) (?:may|might|"
    r"can|could|would)|\b(?:needs?|require[sd]?|warrants?|deserves?|merits?) (?:to be )?(?:further|"
    r"additional|more|larger|confirm\w*|replicat\w*)|\bremains? (?:unclear|uncertain|unknown|"
    r"controversial|to be|unproven)|\b(?:is|are) (?:unclear|uncertain|unknown|controversial|lacking|"
    r"scarce|limited|inconclusive|conflicting)\b|"
    r"\b(?:insufficient|inconclusive|conflicting|limited|scant|inadequate) (?:\w+ )?(?:evidence|data|"
    r"results)|\binconclusive\b|\bnot enough evidence\b|\bno (?:firm |definit\w+ )?conclusions?\b",
    re.IGNORECASE,
)
SAFETY = re.compile(
    r"\b(?:well[- ])?tolerat\w*|\bserious (?:infections?|bleeding|hypogly\w+)|\btolerability|\bsafe(?:ty|"
    r"ly)?\b|\b(?:adverse|side|untoward|"
    r"unwanted) (?:\w+ )?(?:events?|effects?|reactions?|experiences?)\b|\bAEs?\b|\bSAEs?\b|\btoxicit\w+|"
    r"\bpharmacokinetics?\b|\bplasma concentrations?\b|\bcosts?\b|\bdiscontinu\w+|\bdrop-?outs?\b|"
    r"\bwithdr[ae]w\w*\b(?= (?:due|because|for|from))|\bpar(?:a)?esthesias?\b|\bsomnolence\b|"
    r"\bdizziness\b|\bdry mouth\b|\bhyperkal(?:a)?emia\b",
    re.IGNORECASE,
)
GOOD_WORD = re.compile(
    r"\b(?:relief (?:of|from)|effective(?:ness|ly)?|efficient|efficac(?:y|ious)|benefi(?:t|ts|cial|ted)|helpful|useful|"
    r"promising|superior(?:ity)?|outperform\w*|better|improv\w+|protect(?:s|ed|ive|ion)?|amelior\w+|"
    r"alleviat\w+|reliev\w+|"
    r"therapeutic (?:effect|option|potential|agent)|advantage(?:s|ous)?|favou?rabl[ey]|"
    r"success(?:ful(?:ly)?)?|attractive|valuable|viable|recommended|works|worked|treats|cures?|curative|"
    r"restor\w+|rescued|resol(?:ved|ution))\b",
    re.IGNORECASE,
)
BAD_WORD = re.compile(
    r"\b(?:should not be (?:used|given|offered|prescribed)|not (?:support|justify) the use|inferior|"
    r"ineffective|inefficac\w+|worse(?:n\w*)?|harmful|detrimental|deleterious|deteriorat\w+|"
    r"aggravat\w+|exacerbate[sd]?|useless|futil\w+|(?:not|cannot|no longer) (?:be )?recommended|"
    r"less (?:effective|efficacious|beneficial|favou?rable|useful)|poorer|"
    r"unsuccessful|contraindicated|avoided|disappointing|failed)\b",
    re.IGNORECASE,
)
NEGATION = re.compile(
    r"\b(?:no|not|n't|never|neither|nor|without|cannot|lack(?:s|ed|ing)?(?: of)?|fail(?:s|ed|ure)? to|"
    r"hardly|little|unlikely|unable|absence of|none|un(?:supported|proven)|does ?n't|"
    r"did ?n't)\b(?! only)(?! just)(?! inferior)",
    re.IGNORECASE,
)
EQUAL = re.compile(
    r"\b(?:as|equally|similarly|comparably) (?:\w+ )?(?:effective|efficacious|good|beneficial)\b|"
    r"\bnon-?\s?inferior\w*|\bnot inferior\b|\b(?:comparable|similar|equivalent|"
    r"equal) (?:\w+ ){0,3}(?:efficacy|effectiveness|benefits?|improvements?|reductions?|effects?|"
    r"results)\b|"
    r"\bequivalent\b|\b(?:efficacy|effectiveness) (?:was|were|is) (?:\w+ )?(?:similar|comparable|equivalent|equal)",
    re.IGNORECASE,
)
CONCEDED = re.compile(
    r"\b(?:despite|in spite of|notwithstanding|independent(?:ly)? of|irrespective of|"
    r"regardless of)\b(?:[^,;]{0,80},|(?: [\w-]+){1,8})|,? with (?:a |an )?(?:\w+ ){0,2}(?:tolerability|"
    r"safety|side effects?|adverse)[^,;]{0,60},",
    re.IGNORECASE,
)
INERT = re.compile(
    r"\b(?:placebo|sham|untreated|no[- ]treatment|controls?|vehicle|saline|usual care|standard care|"
    r"baseline|dummy|non-?users?|wait(?:ing)?[- ]?list)\b",
    re.IGNORECASE,
)
TURNED = re.compile(
    r"\s+(?:the |any |a )?(?:[\w-]+ ){0,2}?(?:(?P<rise>rise|increase)|decline|loss|worsening|"
    r"deterioration|decrease|fall|reduction) (?:in|of) (?P<what>[^,;]{3,60})",
    re.IGNORECASE,
)
COMPARES = re.compile(
    r"\b(?:between|versus|vs\.?|than|compared (?:with|to)|from)\b|"
    r"\b(?:with|of|for|on) [\w-]+ and [\w-]+ (?:was|were|is|are) (?:\w+ )?(?:similar|comparable|"
    r"equivalent|equal|the same)\b",
    re.IGNORECASE,
)
NOT_THE_OTHER = re.compile(r",? but not (?:in |with |by |for )?(?P<other>[^,;]{2,40}),?", re.IGNORECASE)
NAMELESS_GROUPS = re.compile(
    r"\bbetween (?:the )?(?:two |three |both |treatment |study )*(?:groups|arms|treatments)\b", re.IGNORECASE
)
REFERENCE_MARK = re.compile(
    r"\b(?:than|over|superior to|alternative to|compared (?:with|to)|advantage over)\s+(?:the )?", re.IGNORECASE
)
LESS = re.compile(r"later|delay\w*|slow\w*|prevent\w*|halt\w*|revers\w+|block\w*|abolish\w*|protect\w*", re.IGNORECASE)
