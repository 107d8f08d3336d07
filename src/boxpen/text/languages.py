"""Language codes of multilingual translation models."""

from __future__ import annotations

from typing import Any

from boxpen.errors import ModelError

__all__ = ["language_code", "special_tokens", "two_letter"]

# two-letter code: (M2M-100, mBART, NLLB)
_CODES = {
    "ar": ("ar", "ar_AR", "arb_Arab"),
    "cs": ("cs", "cs_CZ", "ces_Latn"),
    "de": ("de", "de_DE", "deu_Latn"),
    "en": ("en", "en_XX", "eng_Latn"),
    "es": ("es", "es_XX", "spa_Latn"),
    "fi": ("fi", "fi_FI", "fin_Latn"),
    "fr": ("fr", "fr_XX", "fra_Latn"),
    "hi": ("hi", "hi_IN", "hin_Deva"),
    "it": ("it", "it_IT", "ita_Latn"),
    "ja": ("ja", "ja_XX", "jpn_Jpan"),
    "ko": ("ko", "ko_KR", "kor_Hang"),
    "nl": ("nl", "nl_XX", "nld_Latn"),
    "pl": ("pl", "pl_PL", "pol_Latn"),
    "pt": ("pt", "pt_XX", "por_Latn"),
    "ro": ("ro", "ro_RO", "ron_Latn"),
    "ru": ("ru", "ru_RU", "rus_Cyrl"),
    "tr": ("tr", "tr_TR", "tur_Latn"),
    "uk": ("uk", "uk_UA", "ukr_Cyrl"),
    "vi": ("vi", "vi_VN", "vie_Latn"),
    "zh": ("zh", "zh_CN", "zho_Hans"),
}
_LONGER = {
    "ara": "ar", "ces": "cs", "chi": "zh", "cmn": "zh", "deu": "de", "eng": "en", "english": "en",
    "fin": "fi", "fra": "fr", "chinese": "zh", "hin": "hi", "ita": "it", "jpn": "ja", "kor": "ko",
    "nld": "nl", "pol": "pl", "por": "pt", "ron": "ro", "rus": "ru", "spa": "es", "tur": "tr",
    "ukr": "uk", "vie": "vi", "zho": "zh",
}  # fmt: skip


def special_tokens(tokenizer: Any) -> dict[str, int]:
    """Return all special tokens with their ids: the named ones and those added as special."""
    named = zip(tokenizer.all_special_tokens, tokenizer.all_special_ids, strict=True)
    added = tokenizer.added_tokens_decoder.items()
    return dict(named) | {token.content: i for i, token in added if token.special}


def two_letter(code: str) -> str:
    """Return the two-letter code of a language that may be named otherwise (eng, zh_CN)."""
    code = code.strip().lower()
    head = code.replace("-", "_").split("_")[0]
    return _LONGER.get(head, head)


def language_code(tokenizer: Any, language: str | None, model: str) -> str:
    """Return what a multilingual tokenizer calls a language.

    Raises:
        ModelError: If the language is not given, or the tokenizer does not know it.
    """
    if language is None:
        raise ModelError(f"{model} needs to know the languages, but the suite does not name them")
    # Only a special token names a language: 'en' is also a piece of words in most vocabularies.
    special = special_tokens(tokenizer)
    codes: tuple[str, ...] = _CODES.get(language, ())
    for code in (*codes, language):
        if code in special or f"__{code}__" in special:
            return code
    raise ModelError(f"{model} does not know the language '{language}'")
