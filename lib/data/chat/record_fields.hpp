/// Fields of a record, and the record's fields that no reader uses.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "data/chat/template_process.hpp"

namespace ziggurat::data {

/// Returns true if the object has a value that is neither null nor an empty list or object.
///
/// Tables with columns of one type write such values for missing fields.
bool has_field(const ChatJson& object, const std::string& key);

/// Fields of one record by their usual names.
///
/// Other programs use other names: `interactions` (messages), `available_tools` (tools), `system_prompt`
/// (system), and `input`, `preferred_output`, `non_preferred_output` (messages, chosen, rejected).
///
/// Source: mistral-finetune, finetune/data/tokenize.py; OpenAI, API reference, fine-tuning input (DPO)
class RecordFields {
  public:
    /// \param json  an object
    /// Errors: Error{deck} if a field is there by two names with different values
    explicit RecordFields(ChatJson json);

    /// Returns true if the field has a value, as has_field().
    bool has(const std::string& key) const { return has_field(json_, key); }
    bool contains(const std::string& key) const { return json_.contains(key); }
    bool has_text(const std::string& key) const { return has(key) && json_[key].is_string(); }

    /// Returns true if the record has a chosen and a rejected answer.
    bool is_preference() const { return has("chosen") && has("rejected"); }

    /// Returns the value without marking the field as used. \pre has(key)
    const ChatJson& peek(const std::string& key) const { return json_[key]; }
    /// Returns the value, and marks the field as used. \pre has(key)
    const ChatJson& use(const std::string& key);
    /// Returns a text, and marks the field as used; empty if it is missing and `is_optional`.
    ///
    /// Errors: Error{deck} that names the field
    std::string use_text(const std::string& key, bool is_optional = false);
    /// Returns a list or an object, which may be written as JSON in a text; null for a missing or empty
    /// value.
    ///
    /// \param remedy  sentence for a text that is not JSON
    /// Errors: Error{deck} that names the field
    ChatJson use_json(const std::string& key, const std::string& remedy);
    /// Returns a list, which may be written as JSON in a text.
    ///
    /// Errors: Error{deck} that names the field
    ChatJson use_list(const std::string& key, const char* elements);

    /// Returns the names of all fields, separated by commas.
    std::string names() const;
    /// Returns the names of unused fields that have a value.
    std::vector<std::string> unused() const;

  private:
    void rename(const std::string& from, const std::string& to);

    ChatJson json_;
    std::set<std::string> used_;
};

/// Rejects a record that asks for a training which this program does not do.
///
/// Such fields are images, videos and audios; a label of KTO or a weight that excludes the record; and a
/// fractional weight.
///
/// Errors: Error{deck} that names the field
void expect_supported(RecordFields& record);

}  // namespace ziggurat::data
