"""The words in which clinical abstracts report findings: changes, judgements, nulls, doubts, scope and outcomes."""

import re


def _any(*parts: str) -> re.Pattern[str]:
    return re.compile("|".join(parts), re.IGNORECASE)


FALL = _any(
    r"\b(?:fell|falls?|fallen|falling|fewer|(?<=was )less(?= than)|(?<=were )less(?= than)|"
    r"less(?! than\b)(?! (?:effective|efficacious|"
    r"beneficial|successful|favou?rable|useful|efficient|convincing|clear|certain))(?: \w+ing)?|lower(?:ed|s|ing)?|"
    r"reduc(?:e[sd]?|ing|"
    r"tions?)|cuts?|cutting|"
    r"decreas(?:e[sd]?|ing)|declin(?:e[sd]?|ing)|drop(?:s|ped)?|down|rarer|milder|smaller|slow(?:er|s|ed|ly)?|"
    r"shorter|"
    r"diminish\w*|lessen\w*|prevent(?:s|ed|ing)?|delay(?:s|ed|ing)?|halved|halving|retard(?:s|ed|ing)|"
    r"attenuat\w+|"
    r"postpon\w+|abolish\w+|blunt(?:s|ed|ing)?|curb(?:s|ed)?|suppress\w+|eliminat\w+|protect(?:s|ed) (?:against|"
    r"from)|ameliorat\w+|alleviat\w+|reliev\w+|"
    r"normali[sz]ed(?! (?:value|ratio|to|by|for|score|unit))|aborted|averted|avoid(?:s|ed)|spared)\b"
)
"""Less of an outcome."""
RISE = _any(
    r"\b(?:rose|rise[sn]?|rising|rais(?:e[sd]?|ing)|increas(?:e[sd]?|ing)|higher|more (?:often|frequent(?:ly)?|"
    r"common(?:ly)?|"
    r"patients|\w+ers)|more(?= (?:attacks|headaches|bleeding|deaths))|greater|larger|longer|doubled|tripled|"
    r"prolong\w*|"
    r"accelerat\w+|faster|fastest|commoner|(?<!-)induc(?:es|ed)(?! by)|promot(?:es|ed)|"
    r"enhanc\w+|likelier|more likely)\b"
)
"""More of an outcome."""
BETTER = _any(
    r"\b(?:improv(?:e[sd]?|ing|ements?)|better(?:ed|s)?(?! tolerated)|"
    r"(?<!of )(?<!likely to )(?<!who )(?<!may )benefi(?:t(?:s|ed)?|cial(?:ly)?)|"
    r"(?<!not )(?<!less )effective(?:ly)?|"
    r"efficacious|superior|outperform\w*|outdid|outdo|beat|successful(?:ly)?|success|works?|worked|helpful|helped|"
    r"helps|"
    r"recommend\w*|(?<!-)proven|favou?r(?:s|ed|able|ably)|first[- ](?:choice|line)|drugs? of choice|"
    r"confirmed(?! (?:\w+ ){0,2}(?:by|diagnos|infection|presence|that|case|the presence))|advantage\w*|"
    r"valuable|useful(?! (?:\w+ ){0,2}(?:follow|marker|tool|method|technique|variable|predict|measure|model|test|"
    r"parameter|indicator|"
    r"information)| (?:in|for|to) (?:assess|monitor|measur|evaluat|diagnos|predict|detect|identif|study))|of value|"
    r"high(?:est)? (?:documented )?efficacy|good (?:documented )?efficacy|"
    r"established efficacy|"
    r"(?:has|have|had|show(?:s|ed|n)?|demonstrat\w+|possess\w*|evidence of|documented|proved|"
    r"with) (?:(?!lower|less|limited|little|poor|no|uncertain|doubtful|compar|evaluat|assess|investigat|stud|examin|"
    r"test|measur)\w+ ){0,2}(?:efficacy|effectiveness)|"
    r"relief|remission|cured|renoprotect\w+|stabili[sz]e[sd]?|(?:important|beneficial|favou?rable|protective|"
    r"positive|prophylactic|preventive|therapeutic|antiproteinuric) effects?|advis\w+ (?=an?\b)|"
    r"well[- ]established|bettered|(?:was|were) controlled|controlled (?=(?:\w+ )?(?:h?a?emorrhage|bleeding|"
    r"ascites))|promising|attractive|"
    r"(?:effective|good|suitable) (?:alternative|option|choice)|best (?:\w+ )?(?:choice|candidates?|results?|option))\b"
)
"""A judgement in the drug's favour."""
WORSE = _any(
    r"\b(?:ineffective\w*|inefficac\w+|inferior|worse(?:n(?:s|ed|ing)?)?|deteriorat\w+|harmful|detrimental|useless|"
    r"should not be (?:used|given|recommended)|(?:not|no longer|cannot be|advis\w+ against) recommended|"
    r"less effective|"
    r"advis\w+ against|without (?:any )?(?:effect|benefit|efficacy)|"
    r"(?:lack|want) of (?:effect|efficacy|benefit)|disappointing|aggravat\w+|no (?:role|place))\b"
)
"""A judgement against it."""
NOT = _any(
    r"\b(?:not|n't|no|neither|nor|never|without|fail(?:s|ed|ure)? to|none|hardly|cannot|unable|little|nobody|"
    r"non-?significant\w*|"
    r"insignificant\w*)\b(?! (?:only|inferior|worse|less|due to|attributable|explained|just)\b)"
)
UNCHANGED = _any(
    r"\b(?:unchanged|unaffected|unaltered|constant|(?:not|n't|neither(?: \w+){0,3}|nor|never|hardly)(?: \w+){0,3}? "
    r"(?:chang\w+|alter\w*|affect\w*|influenc\w+|outdo|differ\w*|separate|matter|work)|"
    r"no (?:\w+ ){0,3}?(?:differen\w+|chang\w+|effects?|influence|impact|gain|benefits?|advantage|improvement|"
    r"reduction|decrease|response|"
    r"efficacy)|not (?:\w+ ){0,2}?(?:different|superior|significant\w*|effective|beneficial|better|lower|fewer|"
    r"higher|greater|less|reduced|"
    r"improved|prevented|improve)|did not (?:\w+ ){0,3}?(?:reach|show|achieve|meet|help)|no (?:better|"
    r"more effective|fewer|lower|less)|"
    r"not(?: \w+){0,2} (?:reach|attain) significance|(?:non-?|in)significant(?:ly)?|similar(?:ly)?|identical|"
    r"the same|alike|equal(?:ly)?|"
    r"comparable|indistinguishable|level with|made no|(?:end-?points?|outcomes?|objectives?) (?:was|were) not (?:met|"
    r"achieved|reached)|fail(?:s|ed) to|did neither|no significant|little (?:effect|"
    r"change|benefit|impact|influence))\b"
)
"""A difference or change that was not found."""
STABLE = _any(r"\b(?:stable|constant|unchanged|stabili[sz]e[sd]?|level|preserved|maintained|remained)\b")
EQUAL_EFFECT = _any(
    r"\b(?:as|equally|similarly|comparably) (?:\w+ )?(?:effective|efficacious|good|beneficial)\b",
    r"\bnon-?\s?inferior\w*|\bnot (?:to be )?inferior\b|\b(?:shown|proved) not (?:to be )?inferior",
    r"\b(?:comparable|similar|equivalent|equal|same) (?:\w+ ){0,3}(?:efficacy|effectiveness|benefits?|extent|"
    r"improvements?|"
    r"reductions?|efficiency|(?:beneficial|favou?rable|protective|therapeutic) effects?)\b|\bequivalent\b|"
    r"\b(?:efficacy|effectiveness) (?:was|were|is) (?:\w+ )?(?:similar|"
    r"comparable|"
    r"equivalent|equal)|\b(?:drugs|treatments|two) comparable|\bequipotent\b",
)
"""A treatment called as good as another."""
OPEN = _any(
    r"\b(?:insufficient|(?:lower|less|limited) (?:\w+ )?efficacy\b(?! than)|equivocal|unconfirmed|conflicting|"
    r"inconclusive|under (?:investigation|study|evaluation)|"
    r"evaluated more recently|"
    r"ranked lower|rank\w* (?:\w+ )?lower|less so|unproven|remains? to be|remains? (?:unclear|uncertain|unproven)|"
    r"open trials? only|(?:not|never) fully known|limited (?:data|"
    r"evidence)|selection bias|unequal dos\w+|needs? (?:further|more|larger)|(?:further|larger|"
    r"more) (?:\w+ ){0,2}(?:studies|trials|study|research)|need(?:s|ed)? to be|"
    r"warrant\w*|awaits?|controversial|ask(?:s|ed)? for|calls? for|not (?:yet )?(?:\w+ )?(?:established|confirmed|"
    r"shown|known)|"
    r"no (?:\w+ ){0,2}conclusions? can be|preliminary|hard to call|cannot be (?:drawn|concluded|recommended yet))\b"
)
"""A matter left open."""
HEDGE = _any(
    r"\b(?:may|might|could(?! be recommended)|promising|hint(?:s|ed)?|seem(?:s|ed)?|appear(?:s|ed)?(?! in\b)|"
    r"trend\w*|possibl[ey]|perhaps|probably|potential\w*|interesting|"
    r"somewhat|slightly|some (?:evidence|suggestion|benefit)|tend(?:s|ed|ency)?|suggest\w*|likely to|"
    r"(?<!best )candidate)\b"
)
SAFETY = _any(
    r"\b(?:toler(?:at|abil)\w*|safe(?:ty|ly)?|(?:adverse|side|untoward|unwanted)[ -](?:\w+ )?(?:events?|effects?|"
    r"reactions?|experiences?|symptoms?)|"
    r"toxicit\w+|pharmacokinetic\w*|plasma (?:level|concentration)\w*|serum levels?|half-life|cmax|auc|costs?|"
    r"savings?|dollars|withdr[ae]w\w*"
    r"(?! symptoms?)|drop-?outs?|dropped out|discontinu\w*|stop(?:ped)? (?:it|treatment|taking)|cough\w*|"
    r"somnolence|akathisia|sedation|drowsiness|dizziness|"
    r"par(?:a)?esthesias?|weight|nausea|vomiting|diarrh\w+|constipation|depressi(?:ve|on)\w*|extrapyramidal|"
    r"insomnia|headaches? (?:as|was) an? adverse|"
    r"hyperkal\w+|potassium|uric acid|hypotension|dry mouth|complications|lost (?:fewer|more)|abandoned|"
    r"adheren\w+|complian\w+|phosphorus|"
    r"urinary (?:calcium|sodium))\b"
)
BESIDE = _any(
    r"\b(?:blood pressure|BP|MAP|(?:systolic|diastolic|arterial|office|24-h|intraocular)(?: blood)? pressures?|"
    r"pressure (?:falls?|reductions?|lowering|control)|"
    r"pressure (?=fell|was|from|reduction|and)|heart rate|cardiac (?:output|index)|pulse|lipids?|cholesterol|"
    r"triglycerides?|glucose|glyc(?:a)?emi\w+|"
    r"hb\s?a1c|glycated|insulin|visual fields?|hypoglyc\w+|retinopathy|strokes?|myocardial|heart failure|"
    r"cardiovascular|quality of life|disability|"
    r"renal plasma flow|acute medication|abortive|ace activity|renin|liver function|body mass)\b"
)
"""Outcomes beside the question, unless the condition is named by them."""
MINOR = _any(
    r"\b(?:durations?|severity|intensity|analgesics?|secondary|subgroups?|strat(?:um|a)|only (?:a|in)\b|"
    r"health-related|satisfaction|"
    r"post[- ]hoc|craving|exploratory|mood|withdrawal symptoms?|length of|global (?:rating|impression)|"
    r"nondiabetic|non-diabetic|baseline)\b"
)
"""An outcome or group of the second rank."""
RESERVE = _any(
    r"\b(?:gfr|egfr|(?:glomerular )?filtration(?: rate)?(?! fraction)|creatinine clearance|renal function|"
    r"kidney function|"
    r"serum creatinine|mortality|deaths?|"
    r"survival|liver function|creatinine)\b"
)
"""Outcomes that a treatment is content to keep stable: no change in them says nothing against it."""
PRIMARY = _any(r"\bprimary\b")
PLAN = _any(
    r"\b(?:was|were) (?:then )?(?:assessed|evaluated|tested|examined|analy[sz]ed)\b",
    r"\b(?:aims?|aimed|objectives?|purpose|goal) (?:of|was|is|were|to)\b",
    r"\bhypothes[ie][sz]\w*|\b(?:sought|designed|undertaken|conducted|performed|planned|carried out) to\b",
    r"\b(?:in order )?to (?:evaluate|assess|compare|investigate|determine|examine|test|explore|study|see)\b|"
    r"\b(?:asks?|asked|tested|determined?|"
    r"know|evaluated?|investigated?|examined?|assess(?:ed)?) (?:whether|if)\b",
    r"\bwe (?:have )?(?:evaluated|assessed|compared|investigated|examined|studied|tested|determined|sought|report)\b",
)
METHOD = _any(
    r"\bdoses? (?:rose|was|were)\b|\b(?:was|were) (?:then )?(?:randomi[sz]ed|randomly|assigned|allocated|enrolled|"
    r"recruited|administered|measured|recorded|collected|searched|"
    r"divided|titrated|calculated|defined|given)\b|\b(?:primary|secondary|main) (?:efficacy )?(?:outcomes?|"
    r"end-?points?|variables?|criteri\w+)"
    r"(?: \w+)? (?:was|were|is|are)\b(?! (?:\w+ )?(?:similar|different|reduced|lower|higher|met|better))|"
    r"\bwidely used|\bcommonly used|\bis (?:a|an) (?:\w+ ){0,3}(?:disorder|disease|cause|drug|agent)\b"
)
RESULT = _any(r"\bp\s*[<=>]|significan|\bp\s+values?|\d\s*%|\bthan\b|\bagainst\b|\bversus\b|\bvs\b")
ASSOCIATION = _any(
    r"\bcorrelat\w+|\bpredict(?:s|ed|or|ors|ive)\b|\brisk factors?\b|\bprognostic\b|\bregression analys\w+|"
    r"\bdeterminants?\b"
)
"""What goes with what among the patients, not what a treatment did."""
MEASURED = _any(
    r"§|\bp\s*[<=>≤≥]|\bp\s+values?|\d\s*%|\bsignificantly (?:\w+ )?(?:lower|higher|fewer|more|less|better|reduc|"
    r"improv)|"
    r"\b(?:was|were) (?:found|shown|observed|seen)\b|\bwe found\b|\bfound (?:that|no)\b"
)
"""A result with its figure or its finding, not what was to be compared."""
OUT_OF_SCOPE = _any(
    r"\b(?:prophylaxis|prevention|effectiveness|efficacy(?: in [\w ]{3,40})?|treatment effects?|"
    r"efficacy results) (?:was|were|is|are) not "
    r"(?:tested|studied|measured|reported|assessed|part)\b",
    r"\bdo(?:es)? not test\b|\bsays? nothing (?:of|on|about)\b|\badds no new\b|\bno efficacy (?:results|data|"
    r"outcomes?)\b|"
    r"\bno patients were treated\b|\bmeasured use\b|\b(?:not|nor) effectiveness\b|\beffects? (?:is|are|was|"
    r"were) not reported\b",
    r", not (?:\w+[- ]){0,2}?(?:prophylaxis|prevention|cessation|treatment)\b(?=[ .;,]|$)|\bconcerns? (?:stopping|"
    r"acute)\b|"
    r"\bthe trial (?:is|concerns) (?:about )?(?:acute|single)\b|\b(?:concerns|tests?) (?:acute|single)\b",
    r"\b(?:economic|cost[- ](?:effectiveness|benefit|utility)) analysis\b|\bcost[- ]effectiveness\b|"
    r"\bcost model\b|\bpharmacokinetic interaction\b|"
    r"\binteraction (?:study|between)\b|\bhealthy (?:volunteers|subjects|men)\b",
    r"\b(?:lipids?|cardiovascular|safety|tolerability|kinetics)(?: outcomes?)?, not (?:\w+ )?(?:outcomes?|"
    r"efficacy)\b",
)
"""A record that says itself that it answers another question."""
ALL = _any(
    r"^all (?=were|had)|\b(?:both(?! (?:systolic|diastolic|micro\w*|men|sexes))|either|neither|each|every|"
    r"all (?:\w+ )?(?:active|"
    r"drugs|treatments|groups|arms)|two (?:active|drugs)|"
    r"(?:active|study) (?:drugs?|treatments?|medications?)|the (?:drugs|treatments)|"
    r"(?<![a-z] )overall(?! (?:survival|response|rates?|incidence|mortality|effect|population|cohort|safety|quality|"
    r"adverse))|any active|"
    r"respectively)\b"
)
REFERENCE = _any(
    r"\b(?:than|compared (?:with|to)|as compared (?:with|to)|in comparison (?:with|to)|versus|vs\.?|against|"
    r"superior to|inferior to|"
    r"relative to|over (?=placebo)|ahead of|unlike|better than|beat(?:s)?|outperform\w*|bettered|differ(?:ed|"
    r"ent)?(?: significantly)? from|"
    r"difference from|level with|alternative to|rather than|as well as|outdo|outdid)(?!\w)"
)
INERT = _any(
    r"\b(?:placebos?|controls(?! (?:the|of|in|bleeding|it|pain|symptoms|blood|seizures)\b)|control (?:groups?|arms?|"
    r"subjects|patients|"
    r"animals|rats|mice|participants|children|condition|treatment|period|regimen|diet)|"
    r"(?:versus|vs\.?|than|and|with|to|in|or|for|against|the|on) (?:the )?control\b(?! (?:of|group|in)\b)|"
    r"sham|untreated|no[- ](?:drug )?treatment|without (?:treatment|it)\b|usual care|"
    r"vehicle|"
    r"no medication|nothing|non-?treated|dummy|none)\b"
)
PROCEDURE = _any(
    r"\b(?:ligation|banding|sclerotherapy|tips|tipss|shunt(?:s|ing)?|tamponade|surgery|devasculari[sz]ation|"
    r"paracentesis|acupuncture|needling|"
    r"counsel+ing|relaxation|biofeedback|diet|exercise|stents?|transplantation|stimulation|hypnosis)\b"
)
"""Treatments that are no drug and stand as an arm of their own."""
REVIEW = _any(
    r"\b(?:review|overview|account of|commentary|guidelines?|guide to|editorial|update|article|survey of|"
    r"perspectives?|advances|developments?|"
    r"hypothesis paper|current (?:status|concepts))\b"
)
SURVEYS = _any(
    r"\b(?:this|the present|our) (?:\w+ )?(?:review|overview|article|chapter|paper (?:reviews|discusses|"
    r"summari[sz]es))\b|"
    r"\bwe (?:systematically )?review(?:ed)?\b|\bliterature (?:search|review)\b|\b(?:are|is) (?:reviewed|discussed)\b|"
    r"\b(?:medline|embase|pubmed|cochrane)\b|\b(?:randomi[sz]ed|controlled|clinical|open(?:-label)?) "
    r"(?:\w+ )?(?:trials|studies) (?:have|do|suggest|support|show|demonstrate|indicate)"
)
"""What a survey of others' studies says of itself in its abstract."""
ENROLS = _any(
    r"\b(?:were|was) (?:\w+ )?(?:randomi[sz]ed|randomly|assigned|allocated|enrolled|recruited|treated with|studied|"
    r"given)\b|"
    r"\bn\s*=\s*\d|\b\d+ (?:\w+ ){0,4}(?:patients|subjects|children|adults|women|men|volunteers|rats|mice|smokers)\b"
)
"""A study of one's own takes patients in."""
_GOOD = (
    r"(?:headache|attack|migraine|smoke|symptom|event|bleeding|pain|seizure|relapse|disease|"
    r"progression)s?[- ]free\b|\bfree (?:of|from)\b(?: \w+)?|"
    r"\b(?:no|without) (?:new |further )?(?:headache|attack|migraine|bleed\w*|reble\w*)s?\b|\brespon(?:ders?|"
    r"se(?: rates?)?|ded)\b|\babstinen\w+|"
    r"\babstain\w*|\bquit\w*|\bcessation\b(?! (?:aid|trial|therap|treat|program|clinic|drug|of))|\b(?:stopped|"
    r"stopping|gave up|give up|given up) smoking\b|\bsurviv\w+|\bregression\b|"
    r"\bnormoalbuminur\w+|\b(?:e?gfr|(?:glomerular )?filtration(?: rate)?(?! fraction)|creatinine clearance|(?:renal|"
    r"kidney) function)\b(?! (?:decline|loss|fall|deterioration)\b)|"
    r"\b(?:bleeding|h(?:a)?emorrhage) (?:was |were )?(?:controlled|stopped|arrested)|\bcontrol(?:led|"
    r"ling)? (?:the )?(?:acute )?(?:variceal )?"
    r"(?:bleeding|h(?:a)?emorrhage)|\bsuccess\w*|\bremission\b|\beradication\b|\bcontrol of (?:bleeding|ascites)|"
    r"\bhemostasis\b|\bhaemostasis\b|\brecovery\b|"
    r"\bsatisfactory\b|\btime to(?: (?:the|first|next|variceal|disease))* \w+|\b(?:to|reach\w*|at|achiev\w*|met|"
    r"attain\w*) (?:the |their |a )?(?:\w+ )?(?:targets?|goals?)\b"
)
_BAD = (
    r"\b(?:decline|loss|fall|deterioration|worsening|drop) (?:in|of) (?:the )?(?:e?gfr|(?:glomerular )?filtration|"
    r"creatinine clearance|(?:renal|kidney) "
    r"function)(?: rate)?|\b(?:e?gfr|filtration(?: rate)?(?! fraction)|creatinine clearance|(?:renal|"
    r"kidney) function) (?:decline|loss|fall|deterioration)\b|"
    r"\bprogress\w*|\b(?:micro|macro)?albuminuri\w*|\bproteinuri\w*|\balbumin\w*[- ](?:to[- ])?(?:creatinine|"
    r"excretion|clearance)(?: rat\w+)?|"
    r"\balbumin\b|\bprotein[- ](?:to[- ])?creatinine\b|\b(?:urinary )?protein(?: excretion)?\b|\buae\w*\b|\baer\b|"
    r"\bacr\b|\bdoubl(?:ed|ing)(?: of)?(?: the)?(?: serum)? creatinine|"
    r"\bcreatinine (?:doubling|rise)|\bserum creatinine|\bend-?stage\w*|\besrd\b|\bdialysis\b|\bnephropath\w*|"
    r"\bglomerul(?:osclerosis|opathy)\b|"
    r"\bbasement membrane|\bmesangial|\bkidney failure|\brenal (?:failure|events?)|"
    r"\b(?:migraine|headache)s?(?: (?:days?|attacks?|frequency|rate|index|hours|episodes|complaints))?\b|"
    r"\battacks?\b|\baura\b|\bpain\w*|\bhours\b|"
    r"\bhvpg\b|\b(?:portal|variceal|intravariceal|hepatic venous|wedged?\w*)(?: \w+)? (?:pressures?|gradients?|"
    r"flow)|\bwhvp\b|\bportal (?:inflow|blood flow|hypertension)\b|"
    r"\bpressure gradient\b|\bgradient\b|\bazygos\b|\bble(?:d|eds|eding)\b|\breble\w*|\bh(?:a)?emorrhag\w*|"
    r"\bvaric\w+|\bascites\b|\bh?encephalopathy\b|"
    r"\bmortality\b|\bdeaths?\b|\bdied\b|\bfatal\w*|\brelaps\w*|\brecurren\w*|\bcigarettes?(?: consumption)?\b|"
    r"\bcraving\w*|"
    r"\bwithdrawal(?: symptoms?)?\b|\bsmoking rates?\b|\bsymptoms?\b|\bevents?\b|\brisks?\b|\bcomposite\b|"
    r"\bfailure\b|\bportal pressure\b|"
    r"\bexacerbat\w+|\bseizures?\b|\bpeak\b|\bsusceptibility\b"
)
OUTCOME = re.compile(rf"(?P<good>{_GOOD})|(?P<bad>{_BAD})", re.IGNORECASE)
"""An outcome of which more is good, or bad."""
CONCEDED = _any(
    r"\b(?:despite|in spite of|notwithstanding|independent(?:ly)? of|irrespective of|"
    r"regardless of)\b(?:[^,;.]{0,80},|[^,;.]{0,80}$)|"
    r",? (?:but |and )?the abstract (?:gives?|reports?|names?|calls?)\b[^.;]*"
)
"""What a sentence grants in passing, or says of its own reporting."""
CONFOUNDED = _any(r"\bselection bias\b|\bunequal dos\w+|\bconfounded\b")
