/// A family in the Hugging Face format, as data: names of its tensors and keys of its config.json.
#pragma once

#include <vector>

namespace ziggurat::layout {

/// Order of the rows that several tensors of ours have in one published tensor.
enum class PartOrder {
    in_turn,  ///< all rows of the first, then all of the second
    by_head,  ///< of each head those of the first, the second ...
};

/// A published tensor and the tensors of ours that it holds. In names, {} stands for the number of a layer.
struct PublishedTensor {
    const char* name;                ///< `transformer.h.{}.attn.c_attn.weight`
    std::vector<const char*> parts;  ///< `layers.{}.attention.q.weight` ...
    bool is_transposed = false;      ///< a matrix of [in, out]; else of [out, in], as ours are
    PartOrder order = PartOrder::in_turn;
};

/// A key of config.json that says the same as a key of a deck.
struct PublishedKey {
    const char* name;
    const char* deck_key;  ///< `model.hidden`
    /// Value, as a deck would say it, where config.json has none or null; none: it has to be there.
    const char* fallback = nullptr;
    /// Name in the map `rope_parameters` of newer files; none: the key does not concern positions.
    const char* in_rope_parameters = nullptr;
    /// Another name of the key that transformers accepts for this family; none: it has one name.
    const char* alias = nullptr;
};

/// A key of config.json that says what the family always is.
struct PublishedFact {
    const char* name;
    std::vector<const char*> values;  ///< as JSON; the first one is written, all are taken
};

/// What its models look like in the Hugging Face format.
struct Published {
    const char* model_type = "";
    const char* architecture = "";           ///< the class of transformers with the head
    const char* prefix = "";                 ///< of names, which files without the head leave out
    std::vector<PublishedTensor> tensors;    ///< of the embedding, one layer and the norm before the head
    const char* head = "";                   ///< the head's weight, where it is not the embedding's
    std::vector<const char*> left_out = {};  ///< tensors that older files have and that hold no weights
    std::vector<PublishedKey> keys = {};
    std::vector<PublishedFact> facts = {};
};

}  // namespace ziggurat::layout
