// Made-up texts to try a model with, one for each corpus that the package knows.

const EXAMPLES = {
  medline:
    "Slow breathing and blood pressure in older adults with mild hypertension. Forty-two women and men, " +
    "aged 61 to 79 years, took part in a trial of twelve weeks. One group practised slow breathing for a " +
    "quarter of an hour each evening; the other read a magazine. Heart rate and blood pressure were " +
    "measured at home and in the clinic. Blood pressure fell in the first group, and the heart rate fell " +
    "with it; no change was seen in the second. Two patients left because of dizziness. We conclude that " +
    "the treatment is safe, and that a longer follow-up is worth its cost.",
  reuters:
    "Farmers' union lifts forecast for wheat exports. The country will ship 2.4 million tonnes of wheat " +
    "and barley this season, a fifth more than a year ago, the union said on Tuesday. Dry weather had " +
    "held the corn harvest back. Traders said that lower interest rates and a weak currency made the " +
    "grain cheap for buyers abroad, while higher crude oil prices raised the cost of freight.",
  arxiv2026:
    "We study how small language models learn to name the parts of a picture. A network of attention " +
    "layers is trained on captions alone, and a second one reads the image. We give a bound on the " +
    "generalisation error, an algorithm that reaches it, and experiments on three data sets. The code of " +
    "the robot that sorts the pictures is open.",
  debtags:
    "small command line tool that turns pictures into text. It reads PNG and JPEG files, finds the lines " +
    "of a page and writes what they say to standard output. A library for Python and a graphical viewer " +
    "for GNOME come with it.",
};
const OTHER =
  "The town library opens a reading room for children this spring. Twelve volunteers will read aloud on" +
    " Saturdays, and the bakery next door gives bread and fruit. The council pays for new shelves; the " +
    "money comes from the sale of an old bus. Farmers from the valley have promised apples after the " +
    "harvest.";

/** Return a text of the kind that a model knows. */
export const exampleFor = (model) => EXAMPLES[model.about?.corpus?.name] ?? OTHER;
