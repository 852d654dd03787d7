const rules = { zone: "Todos", types: { Todo: { fields: { done: "or" } } } };
