"""From texts to word ids and TF-IDF features."""
