"""The words by which titles and abstracts name their design.

Gathered from the reporting guidelines of the EQUATOR network (https://www.equator-network.org), which ask that title or
abstract name the design, and from abstracts.
"""

import re

REVIEWED = re.compile(
    r"\bmeta-?anal\w+|\bsystematic(?:ally)? (?:literature |scoping )?(?:review\w*|search\w*|overview)|"
    r"\bCochrane (?:review|database)|\bumbrella review|"
    r"\bpooled (?:analysis|results) of (?:\w+ ){0,3}(?:trials|studies|RCTs)|\bPRISMA\b|\b(?:we|was|"
    r"were) searched\b|\bsearch(?:ed|es)? (?:of )?(?:MEDLINE|PubMed|Embase)",
    re.IGNORECASE,
)
META_TITLE = re.compile(
    r"\bmeta-?anal\w+|\bsystematic (?:\w+ )?(?:review|overview)|\bumbrella review|"
    r"\boverview of (?:systematic )?reviews|\bevidence synthesis",
    re.IGNORECASE,
)
BLINDED = re.compile(
    r"\b(?:double|single|triple|observer|assessor|investigator|rater|evaluator|patient)s?[- ]?(?:blind\w*|"
    r"mask\w*)|\bblinded\b|\bdouble[- ]dummy\b|\bmasked (?:trial|study)",
    re.IGNORECASE,
)
OPEN = re.compile(
    r"\bopen[- ]?(?:label\w*|trial|study|randomi[sz]ed)|\bunblinded\b|\bnon-?blinded\b|\bnot blinded\b|"
    r"\bunmasked\b|\bnon-?masked\b",
    re.IGNORECASE,
)
NOT_RANDOM = re.compile(
    r"\bnon-?\s?random\w*|\bnot randomi[sz]ed|\bMendelian randomi[sz]ation|\brandom(?:ly)? (?:sampl\w+|"
    r"selected|chosen|effects?|forest|mutagen\w+|walk)|\bwithout randomi[sz]\w+|"
    r"\bquasi-?random\w*|(?:no|lack of|few|more|future|further|large|larger|need for|needed|"
    r"prospective,? large|available|published|previous|existing|several|multiple|data from|"
    r"from) (?:\w+[- ]){0,3}randomi[sz]ed (?:\w+[- ]){0,3}(?:trials|studies)|"
    r"randomi[sz]ed (?:\w+[- ]){0,3}(?:trials|studies) (?:are|were|is) (?:needed|required|warranted|lacking)",
    re.IGNORECASE,
)
RANDOM = re.compile(
    r"\brandomi[sz](?:ed|ation)\b|\brandom(?:ly)? (?:assign\w+|allocat\w+|divided|to receive|order)|"
    r"\bRCT\b|\brandomly\b",
    re.IGNORECASE,
)
TRIAL_BLIND = re.compile(r"\bdouble[- ]?blind\w*|\bplacebo[- ]controlled\b|\bdouble[- ]?mask\w*", re.IGNORECASE)
ANIMALS = re.compile(
    r"\b(?:mice|mouse|murine|rats?|rodents?|zebrafish|rabbits?|piglets?|pigs|minipigs|dogs?|canine|"
    r"beagles?|monkeys?|macaques?|hamsters?|guinea pigs?|gerbils?|"
    r"drosophila|c\. elegans|caenorhabditis|sprague[- ]dawley|wistar|c57bl\w*|balb/c|knock-?out mice|"
    r"xenograft\w*|animal model|cows|cattle|sheep|horses|cats)\b",
    re.IGNORECASE,
)
HUMANS = re.compile(
    r"\b(?:patients?|participants?|volunteers?|women|men|children|adults|humans?|individuals|infants|"
    r"subjects|adolescents)\b",
    re.IGNORECASE,
)
CELLS = re.compile(
    r"\bin vitro\b|\bcell lines?\b|\bcultured\b|\b(?:HEK|HeLa|MCF|A549|HepG2|THP|SH-SY5Y|Caco|Vero)-?\w*|"
    r"\bcell culture|\bprimary (?:human )?(?:cells|neurons|hepatocytes)|\bex vivo\b|\bIC50\b",
    re.IGNORECASE,
)
COMPUTED = re.compile(
    r"\bin silico\b|\bmolecular docking\b|\bmolecular dynamics\b|\bnetwork pharmacology\b|"
    r"\bvirtual screening\b|\bcomputational (?:drug|repurposing|approach|screen\w*|prediction)|"
    r"\bgene[- ]expression signatures?\b|\bknowledge graph|\bbioinformatic\w*",
    re.IGNORECASE,
)
PROTOCOL = re.compile(
    r"\b(?:study |trial )protocol\b|\bprotocol (?:for|of) (?:a|an|the)\b|\brationale and design\b|"
    r"\bdesign and rationale\b",
    re.IGNORECASE,
)
GUIDE = re.compile(
    r"\b(?:practice|clinical|treatment|management) guidelines?\b|\bguidelines? (?:for|on|of)\b|"
    r"\bconsensus (?:statement|report|conference|recommendations)|\bposition (?:statement|paper)|"
    r"\brecommendations? (?:of|from|by) the\b|\bpractice parameter|\bevidence-based guideline",
    re.IGNORECASE,
)
REVIEW_TITLE = re.compile(
    r"\breview\b|\boverview\b|\bupdate\b|\bstate of the art\b|\bperspectives?\b|\bcurrent (?:concepts|"
    r"status|understanding|management|treatment)\b|\badvances in\b|\bnarrative\b|\bemerging\b|"
    r"\bpathophysiology and\b",
    re.IGNORECASE,
)
REVIEW_TEXT = re.compile(
    r"\b(?:this|the present|our|in this) (?:\w+ )?(?:article |paper |mini-?)?(?:review\w*|overview|"
    r"chapter)\b|\bwe review\b|\bthis (?:article|paper) (?:reviews|discusses|summari[sz]es|describes|"
    r"outlines|focuses)\b|\bis reviewed\b|\bare reviewed\b|\bwe discuss\b",
    re.IGNORECASE,
)
EDITORIAL = re.compile(
    r"\beditorial\b|\bcommentary\b|\bletter to the editor\b|\bviewpoint\b|\binvited comment", re.IGNORECASE
)
CASE_REPORT = re.compile(
    r"\bcase reports?\b|\ba case of\b|\bwe (?:report|describe|present) (?:a|an|the|"
    r"one) (?:\w+[- ]){0,6}?(?:case|patient|man|woman|boy|girl|infant|child|male|female)\b|"
    r"\b\d{1,2}[- ]year[- ]old (?:\w+ ){0,3}(?:man|woman|boy|girl|male|female|patient)\b|"
    r"\bcase (?:presentation|study)\b|\breport of a case\b",
    re.IGNORECASE,
)
CASE_SERIES = re.compile(
    r"\bcase[- ]series\b|\bconsecutive (?:patients|cases|series)\b|\bseries of (?:\w+ ){0,2}(?:patients|"
    r"cases)\b|\b(?:report|describe|present) (?:\w+ ){0,2}(?:two|three|four|five|six|seven|eight|nine|ten|"
    r"\d{1,2}) (?:\w+ ){0,3}(?:cases|patients)\b|\bcase reports\b.*\bliterature\b",
    re.IGNORECASE,
)
CASE_CONTROL = re.compile(
    r"\b(?:nested )?case[- ]control(?:led)?\b|\bcases and controls\b|\bcase-referent\b|\bcase-crossover\b",
    re.IGNORECASE,
)
OBSERVED = re.compile(
    r"\bcontrolled (?:study|trial|comparison)\b|\bcohorts?\b|\bretrospective(?:ly)?\b|"
    r"\bprospective(?:ly)?\b|\bobservational\b|\bregistry\b|\bregister\b|\bcross-?sectional\b|"
    r"\blongitudinal\b|\bsurvey\b|\bclaims (?:data|database)|"
    r"\bopen[- ]label\b|\bopen (?:trial|study)\b|\bsingle[- ]arm\b|\buncontrolled\b|\bpilot (?:study|"
    r"trial)\b|\bpre-?post\b|\bbefore[- ]and[- ]after\b|\bphase (?:1|2|i|ii)[ab]? (?:trial|study)|"
    r"\bnationwide\b|\bpopulation-based\b|\bfollow-?up study\b|"
    r"\bclinical trial\b|\bMendelian randomi[sz]ation|\belectronic (?:health|medical) records|"
    r"\bmedical records\b|\bchart review\b|\b\d+ (?:\w+ ){0,3}patients\b",
    re.IGNORECASE,
)
COMPARED = re.compile(
    r"\bcompared (?:with|to) (?:\w+[- ]){0,4}(?:controls?|non-?users?|placebo|untreated|unexposed|those|"
    r"patients|standard|no)\b|\bcontrol(?:led)? (?:group|cohort|trial|study|subjects|patients)\b|"
    r"\bmatched\b|\bpropensity\b|\bversus\b|\bvs\b|\bcomparison group\b|"
    r"\bnon-?users?\b|\bunexposed\b|\bhazard ratio\b|\badjusted\b|\bnon-?\s?randomi[sz]ed\b|\bcontrols\b",
    re.IGNORECASE,
)
SINGLE = re.compile(
    r"\bsingle[- ]arm\b|\buncontrolled\b|\bsingle[- ]group\b|\bno control group\b|\bcross-?sectional\b|"
    r"\bwithout (?:a )?control",
    re.IGNORECASE,
)
