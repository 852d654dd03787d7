import LockstepApps
import LockstepModel

extension People {
  /// What a person does on one device. Of a list the device shows at that moment, `pick` takes one,
  /// counted round and round. Texts and numbers that a person brings are never brought twice, so
  /// that they tell who did it.
  package enum Press: Hashable {
    case timer(TimerEvent)
    /// Sets a whole number in the settings.
    case setting(String, Int64)
    /// Writes a note, or deletes it.
    case note(Int, text: Int64?)
    /// Writes a note that names chunks of files, which are put into the home first.
    case attach(Int, text: Int64, chunks: [Int])
    /// Reads the chunks that a note names.
    case readChunks(Int)
    case memo(MemoPress)
    case habit(HabitPress)
    case clipboard(ClipboardPress)
    case vault(VaultPress)
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
    /// Where two versions wait for the person: this habit is now as this device has it, or as the
    /// others do.
    case keep(name: String, isLocal: Bool)
    /// What others made shall be here as well.
    case restore
  }

  package enum ClipboardPress: Hashable {
    case add(name: String, content: String)
    case remove(pick: Int)
    /// Another program, which knows no better, writes over an item.
    case write(pick: Int, content: String)
    case clear
  }

  package enum VaultPress: Hashable {
    /// Saves a file anew; `content` is the whole of it.
    case save(file: String, content: String)
    case remove(file: String)
    /// Removes the conflict copies that nobody needs.
    case clean
    /// Writes into a sealed file: the device without the key in the clear, under the record's name
    /// or the file's (`namesItself`).
    case write(content: String, namesItself: Bool)
  }
}
