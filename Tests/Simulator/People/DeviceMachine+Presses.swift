import LockstepApps
import LockstepClient
import LockstepJSON
import LockstepModel
import LockstepSimulation
import LockstepStorage

// Conversion of user actions into orders, as the command line does it.
extension DeviceMachine {
  package func press(_ press: People.Press) {
    guard isRunning else { return }
    switch press {
    case .timer(let event): edit(.timer(event, settings: held(TimerApp.settingsKey)))
    case .setting(let name, let number):
      edit(
        EditRequest(key: TimerApp.settingsKey, type: TimerApp.settingsType) {
          (context) throws(EditRefusal) -> JSONValue? in
          (context.current?.value ?? [:]).setting(name, to: .number(JSONNumber(number)))
        })
    case .note(let number, let text):
      if let text { watch.histories.userWrites(text, into: NotesApp.key(number)) }
      edit(NotesApp.edit(number, text: text))
    case .attach(let number, let text, let chunks):
      let bytes = chunks.map(DeviceMachine.chunkBytes)
      attach(bytes) { NotesApp.edit(number, text: text, chunks: $0) }
    case .readChunks(let number): readChunks(of: number)
    case .memo(let press): self.press(press)
    case .habit(let press): self.press(press)
    case .clipboard(let press): self.press(press)
    case .vault(let press): self.press(press)
    case .table(let row, let field, let number, let act):
      edit(TablesApp.edit(row, field: field, number: number, act: act))
    case .syncNow: order(.syncNow(nextOrderID()))
    case .readStatus: order(.readStatus(nextOrderID()))
    }
  }

  func edit(_ request: EditRequest) {
    let id = nextOrderID()
    pendingActions[id] = .edit
    order(.edit(id, request))
  }

  private func perform(_ app: any App, _ words: JSONValue, _ action: UserAction = .edit) {
    let id = nextOrderID()
    pendingActions[id] = action
    order(.perform(id, app: app.name, words))
  }

  private func held(_ key: RecordKey) -> Record? {
    do throws(StorageError) {
      return try store.record(key)
    } catch {
      return nil
    }
  }

  /// Returns one of the records that the screen shows; nil if it shows none.
  private func shown(_ pick: Int, of type: Name, in zone: Name) -> Record? {
    do throws(StorageError) {
      let records = try store.records(zone: zone, type: type)
      return records.isEmpty ? nil : records[pick % records.count]
    } catch {
      return nil
    }
  }
}

extension DeviceMachine {
  private func press(_ press: People.MemoPress) {
    func memo(_ pick: Int) -> Record? { shown(pick, of: MemosApp.memoType, in: MemosApp.zone) }
    switch press {
    case .add(let name, let content):
      perform(MemosApp(), ["do": "add", "name": .string(name), "content": .string(content)])
    case .write(let pick, let content):
      guard let memo = memo(pick), let was = memo.value?["content"]?.string else { return }
      perform(
        MemosApp(),
        [
          "do": "edit", "memo": .string(memo.name.text), "was": .string(was),
          "content": .string(content),
        ])
    case .remove(let pick):
      guard let memo = memo(pick) else { return }
      perform(MemosApp(), ["do": "remove", "memo": .string(memo.name.text)])
    }
  }

  private func press(_ press: People.HabitPress) {
    func habit(_ pick: Int) -> JSONValue? {
      shown(pick, of: HabitsApp.habitType, in: HabitsApp.zone).map { .string($0.name.text) }
    }
    switch press {
    case .add(let name, let title, let isCounted):
      perform(
        HabitsApp(),
        [
          "do": "add", "name": .string(name), "title": .string(title),
          "kind": isCounted ? "count" : "checkbox", "target": 3,
        ])
    case .rename(let pick, let title):
      guard let habit = habit(pick) else { return }
      perform(HabitsApp(), ["do": "edit", "habit": habit, "title": .string(title)])
    case .remove(let pick):
      guard let habit = habit(pick) else { return }
      perform(HabitsApp(), ["do": "remove", "habit": habit])
    case .check(let pick, let day, let isDone):
      guard let habit = habit(pick) else { return }
      perform(
        HabitsApp(),
        ["do": "check", "habit": habit, "day": .string(day), "done": .bool(isDone)])
    case .count(let pick, let day, let amount):
      guard let habit = habit(pick), let name = habit.string else { return }
      let key = RecordKey(zone: HabitsApp.zone, name: Name(trusted: "\(name)/\(day)"))
      perform(
        HabitsApp(),
        ["do": "count", "habit": habit, "day": .string(day), "by": .number(JSONNumber(amount))],
        .count(key, by: amount))
    case .keep(let name, let isLocal):
      perform(
        HabitsApp(),
        ["do": "keep", "habit": .string(name), "version": isLocal ? "local" : "cloud"],
        .keep(RecordKey(zone: HabitsApp.zone, name: Name(trusted: name)), isLocal: isLocal))
    case .restore: order(.answerRestore(nextOrderID(), app: HabitsApp().name))
    }
  }

  private func press(_ press: People.ClipboardPress) {
    func item(_ pick: Int) -> Record? {
      shown(pick, of: ClipboardApp.itemType, in: ClipboardApp.zone)
    }
    switch press {
    case .add(let name, let content):
      perform(
        ClipboardApp(), ["do": "add", "name": .string(name), "content": .string(content)])
    case .remove(let pick):
      guard let item = item(pick) else { return }
      perform(
        ClipboardApp(), ["do": "remove", "item": .string(item.name.text)], .remove(item.key))
    case .write(let pick, let content):
      guard let item = item(pick) else { return }
      edit(
        EditRequest(key: item.key, type: ClipboardApp.itemType) {
          _ throws(EditRefusal) in ["content": .string(content)]
        })
    case .clear: perform(ClipboardApp(), ["do": "clear"], .clear)
    }
  }

  private func press(_ press: People.VaultPress) {
    switch press {
    case .save(let file, let content): save(file, content)
    case .remove(let file):
      guard let record = held(VaultFile.key(file)), !record.isDeleted else { return }
      edit(
        EditRequest(key: record.key, type: VaultApp.fileType) { _ throws(EditRefusal) in nil })
    case .clean: perform(VaultApp(), ["do": "clean"])
    case .write(let content, let form): write(content, form)
    }
  }

  private func save(_ file: String, _ content: String) {
    let before = held(VaultFile.key(file))?.fields
    let bytes = Array(content.utf8)
    // In two chunks, so that versions have one in common.
    attach([Array(bytes.prefix(7)), Array(bytes.dropFirst(7))]) { chunks in
      EditRequest(key: VaultFile.key(file), type: VaultApp.fileType) {
        (context) throws(EditRefusal) -> JSONValue? in
        // A user who saves a file has that version of it open.
        guard context.current?.fields == before else {
          throw EditRefusal("it is another file by now")
        }
        return VaultFile.fields(file, bytes, chunks)
      }
    }
  }
}

// Reaction of a user to a question.
extension DeviceMachine {
  /// Answers what the status asks after a random pause of 0.5 to 6 s.
  func answer(_ status: AgentStatus) {
    let isAsked = !status.asking.isEmpty || !status.questions.isEmpty
    guard isAsked, !isAnswering else { return }
    isAnswering = true
    let pause = random.number(in: 500...6_000)
    environment.timeline.after(Span.milliseconds(pause)) { [weak self] in
      guard let self else { return }
      isAnswering = false
      guard isRunning, let status = self.status else { return }
      if !status.questions.isEmpty { press(.habit(.restore)) }
      if let key = status.asking.first {
        press(.habit(.keep(name: key.name.text, isLocal: random.chance(1, of: 2))))
      }
      // Repeats until nothing is asked any more.
      answer(status)
    }
  }
}
