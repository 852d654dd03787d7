const code = process.env.LOCKSTEP_CODE;
const show = (todos) => console.log(...todos.map(({ title }) => title));
