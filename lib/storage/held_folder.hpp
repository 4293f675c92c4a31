/// A folder that is held open, whatever becomes of its name.
#pragma once

#include <string>
#include <string_view>

#include "base/file_handle.hpp"

namespace ziggurat::storage {

/// Place of a held folder, seen from the name it was opened by.
enum class Whereabouts {
    here,
    elsewhere,  ///< somebody has renamed it; perhaps another has its name
    gone        ///< somebody has removed it
};

/// A folder that stays the same whatever somebody calls it meanwhile: what goes to way() goes into it and
/// into no other that has taken its name. Collective: local; each rank that writes has one.
class HeldFolder {
  public:
    /// Opens the folder. If that fails, way() is the name itself, and writing there meets the reason.
    explicit HeldFolder(const std::string& name);

    bool is_held() const noexcept { return static_cast<bool>(folder_); }
    int descriptor() const noexcept { return folder_.get(); }
    /// A path of this process alone that leads to the folder.
    const std::string& way() const noexcept { return way_; }
    /// The name that it has now; the one it was opened by where that is not known.
    std::string name() const;
    /// `text` with the present name in the place of the way: for people.
    std::string said(std::string_view text) const;

    Whereabouts look() const;
    /// Holds `now`, and what locks it has, in the place of one that is gone; the way stays the same.
    /// \pre now.is_held()
    /// Errors: Error{resource}
    void renew(const HeldFolder& now);

  private:
    std::string name_;
    FileHandle folder_;
    std::string way_;
};

}  // namespace ziggurat::storage
