"""What each sentence of an abstract is for, told by its words and its place."""
from .heads import Head
HEAD: Head | None = None

def role_features(page, order):
    s = page.text.sentences[order]; n = len(page.text.sentences)
    words = [w for w in page.words[s.first:s.last] if w]
    out = set(words); out.update(f"{a} {b}" for a, b in zip(words, words[1:]))
    out.add("^" + " ".join(words[:2])); out.add(f"#at{int(6*order/n)}")
    if order == n-1: out.add("#last")
    if order <= 1: out.add("#first")
    if len(words) < 8: out.add("#short")
    return out

def role_scores(page, order):
    if HEAD is None: return "T" if order == 0 else "C" if order >= len(page.text.sentences)-2 else "R" if order > len(page.text.sentences)/2.2 else "M"
    return HEAD.best(role_features(page, order))
