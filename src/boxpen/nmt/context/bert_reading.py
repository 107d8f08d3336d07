"""The former place of ``boxpen.nmt.data.bert_reading``."""

from boxpen.nmt.data.bert_reading import BertReader

__all__ = ["BertReader"]
