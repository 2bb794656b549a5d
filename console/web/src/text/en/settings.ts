export const settings = {
  title: 'Settings',
  description: 'What this account decides for itself.',
  byTwo: {
    title: 'Two people for production',
    text: 'One person asks for a change in production, another agrees, and then the first carries it out. So no single mistake, and no single stolen sign-in, changes production.',
    on: 'On',
    off: 'Off',
    covers: 'It holds for',
    list: {
      keys: 'Creating, changing and rotating API keys',
      payments: 'Captures, refunds and voids by hand',
      proxy: 'Keys and settings of the proxy',
      tokens: 'Deleting tokens',
      team: 'Inviting people, changing roles and making a new way in',
      operator: 'Processor and proxy settings that an operator changes, also by command',
      settings: 'Switching this off again',
    },
    never:
      'Revoking an API key and removing people never wait: what leaked has to end at once. Calls of your software do not wait either.',
    needsTwo: 'You need at least two people who may approve. Invite one first.',
    toTeam: 'Go to the team',
    turnOn: 'Require two people',
    turnOff: 'Let one person decide',
    confirmOn:
      'From now on changes in production wait for a second person, who is anybody that may approve now: look at the team first. Links that are open end, because one person made them alone.',
    confirmOff: 'A second person has to approve this, as every change in production.',
    confirm: 'Change it',
    doneOn: 'From now on changes in production take two people.',
    doneOff: 'From now on one person may change production.',
    ownerOnly: 'Only owners may change this.',
  },
};
