/// Fields of records that affect no sample, with their counts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "data/chat/chat_record.hpp"

namespace ziggurat::data {

/// Names of fields of one record that affect no sample.
struct UnusedFields {
    std::vector<std::string> in_record;    ///< such as `id`
    std::vector<std::string> in_template;  ///< that the template does not mention: `tools`, `messages[].name`

    /// Adds each name once.
    void add(const UnusedFields& other);
};

/// Returns the fields of a conversation that reach a template which does not mention them.
///
/// \param chat_template  the text of the template
UnusedFields fields_without_effect(const ChatRecord& record, const std::string& chat_template);

/// Number of records by unused field.
class UnusedFieldCounts {
  public:
    /// Counts the fields of one record.
    void add(const UnusedFields& fields);

    /// Returns a sentence for the fields that no record uses and one for those that the template does not
    /// mention; empty if there are no such fields.
    ///
    /// \param paths  files of the records, at least one
    std::vector<std::string> notes(const std::vector<std::string>& paths) const;

  private:
    std::map<std::string, std::int64_t> in_record_, in_template_;
};

}  // namespace ziggurat::data
