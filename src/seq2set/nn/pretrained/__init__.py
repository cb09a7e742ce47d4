"""Language knowledge from elsewhere: a pretrained encoder's folder, its vectors of texts, and their cache."""
