import csv

from seq2set import Seq2SetClassifier

with open("docs/examples/tickets.csv", encoding="utf-8") as file:  # 400 invented support tickets
    rows = list(csv.DictReader(file))
texts, label_sets = [row["text"] for row in rows], [row["labels"].split(";") for row in rows]
tagger = Seq2SetClassifier(model="br").fit(texts, label_sets)
print(tagger.predict(["Hi, I was charged twice and want my money back."]))
