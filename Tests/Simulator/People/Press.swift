import LockstepApps
import LockstepModel

extension People {
  /// A user action on one device. `pick` selects from the list that the device shows at that
  /// moment, modulo its length. Each text and number is used only once, so that it identifies its
  /// author.
  package enum Press: Hashable {
    case timer(TimerEvent)
    /// Sets a whole number in the settings.
    case setting(String, Int64)
    /// Writes a note; nil deletes it.
    case note(Int, text: Int64?)
    /// Writes a note that names chunks of files, which are stored on the device first.
    case attach(Int, text: Int64, chunks: [Int])
    /// Reads the chunks that a note names.
    case readChunks(Int)
    case memo(MemoPress)
    case habit(HabitPress)
    case clipboard(ClipboardPress)
    case vault(VaultPress)
    /// Edits one field of a row of a table; see `TablesApp.edit`.
    case table(row: Int, field: Int, number: Int64, act: Int64)
    case syncNow
    case readStatus
  }

  package enum MemoPress: Hashable {
    case add(name: String, content: String)
    case write(pick: Int, content: String)
    case remove(pick: Int)
  }

  package enum HabitPress: Hashable {
    case add(name: String, title: String, isCounted: Bool)
    case rename(pick: Int, title: String)
    case remove(pick: Int)
    case check(pick: Int, day: String, Bool)
    case count(pick: Int, day: String, by: Int64)
    /// Resolves a conflict that waits for the user: keeps this device's version of the habit, or
    /// the others'.
    case keep(name: String, isLocal: Bool)
    /// Agrees to take the records that other devices have made.
    case restore
  }

  package enum ClipboardPress: Hashable {
    case add(name: String, content: String)
    case remove(pick: Int)
    /// Overwrites an item from another program, which does not follow the app's rules.
    case write(pick: Int, content: String)
    case clear
  }

  package enum VaultPress: Hashable {
    /// Saves a file anew; `content` is the whole of it.
    case save(file: String, content: String)
    case remove(file: String)
    /// Removes the conflict copies that are not needed.
    case clean
    /// Writes into a sealed file. The device without the key writes plain fields of that form.
    case write(content: String, form: ForgedForm)
  }
}
