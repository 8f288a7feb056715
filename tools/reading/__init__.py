"""Reading records: what each one reports about a drug, without a language model.

A `Document` is a record's text, cut into sentences and searched for names once. `learned` predicts a `Reading` of it
for one drug and one condition; `assembler` makes a `Study` of the readings of a record, with arms and comparisons;
`registered` reads a registered trial's fields in their place. `facts` has design and size, `numbers` effect sizes,
`sections` full texts, `screening` what addresses machines. `store` keeps what was read, `corrections` what people say.
"""
