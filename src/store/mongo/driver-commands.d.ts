// A file of MongoDB's driver that has no public types: what of it is used is looked for at run time.
declare module 'mongodb/lib/cmap/commands.js' {
  const commands: object;
  export default commands;
}
